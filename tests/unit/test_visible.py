"""Characters that act on a terminal, forge a line or hide are made visible wherever text is shown, logged or stored."""

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.cli import screen
from flows.process.logs import JsonFormatter, VisibleRecord, make_records_visible
from flows.text.markdown import caption, table, text
from ingest_core.execution.outcomes import error_json
from ingest_core.gate.taxonomy import UpstreamError, error_of_status
from ingest_core.model.errors import BadInput, SchemaDrift
from ingest_core.model.visible import visible, visible_json, visible_lines
from tests.support.specs import NOW

HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07\r\n2026-01-01 ERROR forged: line\x9b2J\u202egnp.exe\u2066\u2028\u200b\ufeff\x7f[red]"
)
ACTING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x00\x7f\x9b", r"\x00\x7f\x9b"),
        ("\u202eabc\u2066", r"\u202eabc\u2066"),
        ("a\u2028b\u2029c", r"a\u2028b\u2029c"),
        ("\u200b\ufeff\u061c", r"\u200b\ufeff\u061c"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("Zürich 東京 می‌خواهم 👩‍🔬 \\x1b", "Zürich 東京 می‌خواهم 👩‍🔬 \\x1b"),
    ],
)
def test_what_acts_or_hides_becomes_an_escape_and_nothing_else_changes(given: str, shown: str) -> None:
    assert visible(given) == shown


def test_a_text_of_lines_keeps_them() -> None:
    assert visible_lines("a\n\x1bb\r\n") == "a\n\\x1bb\\r\n"


@given(st.text(st.characters(codec=None)))
def test_nothing_that_acts_is_left(anything: str) -> None:
    assert not ACTING.search(visible(anything))
    assert "\n" not in visible(anything)
    assert visible(visible(anything)) == visible(anything)
    document = visible_json(json.dumps({anything: anything}, ensure_ascii=False))
    assert not ACTING.search(document)
    assert json.loads(document) == json.loads(json.dumps({anything: anything}))


class TestTheScreen:
    def test_tables_facts_and_lines_show_escapes(self, capsys: pytest.CaptureFixture[str]) -> None:
        screen.print_table(f"title {HOSTILE}", ("id",), [(HOSTILE,)])
        screen.print_table(f"empty {HOSTILE}", ("id",), [])
        screen.print_facts(f"facts {HOSTILE}", [(HOSTILE, HOSTILE)])
        screen.console.print(f"note: {HOSTILE}")
        screen.errors.print(f"warning: {HOSTILE}", style="yellow")
        screen.print_error(BadInput("X", HOSTILE, where=HOSTILE, remedy=HOSTILE), as_json=False)
        out, err = capsys.readouterr()
        assert not ACTING.search(out + err)
        assert r"\x1b[31mred" in out
        assert "[red]" in out
        assert r"\u202egnp.exe" in err

    def test_json_is_the_same_document_with_its_own_escapes(self, capsys: pytest.CaptureFixture[str]) -> None:
        screen.print_json({"title": HOSTILE + "\ud800"})
        out, _ = capsys.readouterr()
        assert not ACTING.search(out)
        assert json.loads(out) == {"title": HOSTILE + "\ud800"}


@pytest.fixture
def records() -> Iterator[None]:
    before = logging.getLogRecordFactory()
    make_records_visible()
    yield
    logging.setLogRecordFactory(before)


class TestLogs:
    def lines(self, formatter: logging.Formatter) -> list[str]:
        """What a handler that knows nothing of this writes of a hostile value and of a hostile error."""
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        handler.setFormatter(formatter)
        logger = logging.Logger("test")  # noqa: LOG001 - of this test alone
        logger.addHandler(handler)
        logger.warning("title %s", HOSTILE)
        try:
            raise ValueError(HOSTILE)
        except ValueError:
            logger.exception("failed: %s", HOSTILE)
        assert not ACTING.search(stream.getvalue())
        return stream.getvalue().splitlines()

    @pytest.mark.usefixtures("records")
    def test_a_record_is_one_line_and_a_trace_is_indented(self) -> None:
        lines = self.lines(logging.Formatter("%(levelname)s %(message)s"))
        assert [line for line in lines if not line.startswith("    ")] == [
            f"WARNING title {visible(HOSTILE)}",
            f"ERROR failed: {visible(HOSTILE)}",
        ]
        assert any("Traceback" in line for line in lines)

    @pytest.mark.usefixtures("records")
    def test_a_json_record_is_one_line(self) -> None:
        entries = [json.loads(line) for line in self.lines(JsonFormatter())]
        assert [entry["message"] for entry in entries] == [f"title {visible(HOSTILE)}", f"failed: {visible(HOSTILE)}"]
        assert HOSTILE.split("\r", maxsplit=1)[0] in entries[1]["exception"]

    @pytest.mark.usefixtures("records")
    def test_records_without_arguments_or_with_odd_ones_are_taken(self) -> None:
        assert logging.makeLogRecord({"msg": "a\nb"}).getMessage() == "a\\nb"
        assert VisibleRecord("n", 20, "p", 1, {"a": "\n"}, (), None).getMessage() == "{'a': '\\\\n'}".replace(
            "\\\\", "\\"
        )


class TestStoredMessages:
    def test_an_upstream_error_is_one_visible_line(self) -> None:
        error = UpstreamError("X", f"said {HOSTILE}", moved=False)
        assert error.json()["message"] == str(error) == f"said {visible(HOSTILE)}"
        status = error_of_status(500, {}, HOSTILE.encode(), [500], NOW)
        assert status is not None
        assert not ACTING.search(str(status))

    def test_any_other_error_is_one_visible_line(self) -> None:
        assert error_json(SchemaDrift(HOSTILE))["message"] == visible(HOSTILE)

    def test_an_error_for_people_keeps_its_lines_alone(self) -> None:
        error = BadInput("X", "two\nlines \x1b", where="a\nb", remedy="c\x07")
        assert str(error) == "a\\nb: two\nlines \\x1b (c\\x07)"


def test_pages_show_escapes() -> None:
    for shown in (text(HOSTILE), caption(HOSTILE), table(["a"], [[HOSTILE]]).splitlines()[2]):
        assert not ACTING.search(shown)
        assert "x1b" in shown
        assert "\n" not in shown
