"""What a command prints is what there is, and fits the terminal: nothing in a value is markup, no word is broken."""

import re

import pytest

from flows.cli import screen
from flows.cli.screen import Screen

DOI = "10.17070/aeaas.2014.12.36.103.w1308"
WHEN = "2026-01-09 06:03 UTC"


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns."""
    monkeypatch.setattr(screen, "console", Screen(highlight=False, width=80))


def table(capsys: pytest.CaptureFixture[str], columns: list[str], *rows: list[object]) -> list[str]:
    screen.print_table("title", columns, rows)
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if len(line) > 80] == []
    return shown


def test_values_that_look_like_markup_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    screen.print_table("rules of [x]", ("template",), [("{value}[tiab]",), ("page[size]",), ("[/y]",)])
    screen.print_facts("facts [/z]", [("title", "[bold]no[/bold] [/x]")])
    shown = capsys.readouterr().out

    for text in ("rules of [x]", "{value}[tiab]", "page[size]", "[/y]", "facts [/z]", "[bold]no[/bold] [/x]"):
        assert text in shown


def test_a_table_that_fits_has_a_line_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    shown = table(capsys, ["id", "name", "count"], [1, "first", 12], [2, None, 3])
    assert shown == ["title", "id  name   count", "──  ─────  ─────", " 1  first     12", " 2             3"]


def test_a_cell_wraps_at_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    shown = table(capsys, ["id", "when", "message"], [DOI, WHEN, "the provider answered 400 twice, then 500"])
    assert len(shown) == 5
    assert {DOI, "2026-01-09", "provider", "answered", "twice,"} <= set(" ".join(shown).split())


def test_a_table_whose_words_do_not_fit_side_by_side_is_a_list_for_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    shown = table(capsys, ["id", "namespace", "by"], [DOI, "n" * 40, WHEN], ["2", "3", "4"])
    assert shown[2:5] == [f"id         {DOI}", f"namespace  {'n' * 40}", f"by         {WHEN}"]
    assert len([line for line in shown if re.fullmatch("─+", line)]) == 2


def test_a_value_too_long_to_be_beside_its_name_is_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    url = "https://api.example.org/" + "x" * 50
    screen.print_facts("request", [("correlation id", "ing-1-1"), ("url", url)])
    assert capsys.readouterr().out.splitlines() == ["request", "correlation id  ing-1-1", "url", f"  {url}"]


def test_a_word_longer_than_a_line_is_broken_and_nothing_of_it_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    value = "".join(f"{number:04}" for number in range(100))
    shown = table(capsys, ["id", "value"], [1, value])
    assert value in "".join(line.strip() for line in shown)


def test_wide_letters_take_two_columns(capsys: pytest.CaptureFixture[str]) -> None:
    screen.print_table("title", ["name", "id"], [["文献" * 18, 1], ["漢" * 3, 2]])
    shown = capsys.readouterr().out.splitlines()
    assert [line.index("1") + 36 for line in shown if "文" in line] == [
        line.index("2") + 3 for line in shown if "漢" in line
    ]


def test_an_empty_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert table(capsys, ["id"]) == ["title: none"]


def test_a_line_feed_in_a_value_begins_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    screen.print_facts("slice", [("missing", "first\n2026-01-01 ERROR forged"), ("none", None)])
    assert capsys.readouterr().out.splitlines() == ["slice", r"missing  first\n2026-01-01 ERROR forged", "none"]
    assert table(capsys, ["id"], ["a\nb"])[-1].strip() == r"a\nb"


def test_values_are_written_as_json_not_as_python(capsys: pytest.CaptureFixture[str]) -> None:
    screen.print_facts("record", [("authors", [{"name": "Ida Holm"}]), ("open", True), ("note", None)])
    assert capsys.readouterr().out.splitlines() == [
        "record",
        'authors  [{"name": "Ida Holm"}]',
        "open     true",
        "note",
    ]
