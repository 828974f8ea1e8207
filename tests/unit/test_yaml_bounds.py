"""A hostile YAML text is refused with a line before its nodes and values are built."""

import time
from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_core.bootstrap import MAX_COMPILES, check_rows
from ingest_core.model.errors import BadInput
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.registry.yaml_bounds import MAX_BYTES, MAX_DEPTH, MAX_NODES, TooLarge, check_events
from ingest_core.shipped import shipped_sources
from tests.support.specs import CROSSREF_TEXT

SECONDS = 2.0


def _chain(levels: int, first: str, one: str) -> str:
    lines = [f"a0: &a0 {first}", *(f"a{n}: &a{n} " + one.replace("ALIAS", f"*a{n - 1}") for n in range(1, levels))]
    return "\n".join(lines) + "\n"


TOO_LARGE = {
    "merge keys": (_chain(16, "{x: 1}", "{<<: [" + ", ".join(["ALIAS"] * 8) + "]}"), 5),
    "aliases": (_chain(12, "[x]", "[" + ", ".join(["ALIAS"] * 9) + "]"), 5),
    "aliases of a long text": ("a: &a '" + "x" * 10_000 + "'\nb: [" + "*a, " * 200 + "]\n", 2),
    "a long text": ("a: 1\nb: '" + "x" * 10_001 + "'\n", 2),
    "aliases nested deep": (_chain(60, "[x]", "[ALIAS]"), 49),
    "an alias in its own mapping": ("a: 1\nsource: &a {code: *a}\n", 2),
    "an alias in its own list": ("source: &a [*a]\nhttp: *a\n", 1),
    "an alias in its own key": ("? &a [*a]\n: 1\n", 1),
    "an alias far inside its own block": ("a: &a\n  b:\n    - {c: *a}\n", 3),
    "brackets": ("source: " + "[" * 50_000, 1),
    "closed brackets": ("source: " + "[" * 50_000 + "]" * 50_000, 1),
    "braces": ("source: " + "{a: " * 50_000, 1),
    "indentation": ("\n".join(" " * n + "a:" for n in range(1000)), 50),
    "list signs": ("- " * 50_000, 1),
    "values": ("a: [" + "x," * (MAX_NODES + 1) + "]", 1),
    "empty lists": ("a: [" + "[]," * (MAX_NODES + 1) + "]", 1),
    "bytes": ("a: '" + "x" * MAX_BYTES + "'", 1),
    "bytes of other letters": ("a: '" + "学" * (MAX_BYTES // 2) + "'", 1),
}

NOT_YAML = {
    "digits": "a: " + "1" * 5000,
    "a number of base 60": "a: " + "1:" * 4_000 + "1",
    "a fraction of base 60": "a: " + "1:" * 4_000 + "1.5",
    "a stated number": "a: !!int '" + "1" * 5000 + "'",
    "a lone surrogate": "a: \ud800",
    "an escaped surrogate": 'a: "\\ud800"',
    "a control character": "a: \x07",
    "directives": "%YAML 1.1\n" * 1000 + "---\na: 1",
    "tags": "a: " + "!x " * 10_000,
    "anchors on one node": "a: " + "&x " * 10_000 + "1",
}


@pytest.mark.parametrize("case", TOO_LARGE)
def test_a_document_that_would_grow_is_refused_at_its_line_within_the_time(case: str) -> None:
    text, line = TOO_LARGE[case]
    started = time.monotonic()
    with pytest.raises(BadInput) as refused:
        read_source(text, "my.yaml")

    assert time.monotonic() - started < SECONDS
    assert (refused.value.code, refused.value.where) == ("SOURCE_TOO_LARGE", f"my.yaml:{line}")
    assert refused.value.remedy


@pytest.mark.parametrize("case", NOT_YAML)
def test_text_that_takes_long_to_read_is_refused_within_the_time(case: str) -> None:
    started = time.monotonic()
    with pytest.raises(BadInput) as refused:
        read_source(NOT_YAML[case], "my.yaml")

    assert time.monotonic() - started < SECONDS
    assert refused.value.code == "SOURCE_NOT_YAML"
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
@pytest.mark.parametrize("case", ["merge keys", "aliases", "brackets", "an alias in its own list"])
def test_the_limits_hold_with_either_parser(loader: type[yaml.SafeLoader], case: str) -> None:
    with pytest.raises(TooLarge):
        check_events(yaml.parse(TOO_LARGE[case][0], Loader=loader))


def test_many_mistakes_are_counted_and_the_first_are_shown_within_the_time() -> None:
    started = time.monotonic()
    with pytest.raises(BadInput) as refused:
        read_source(CROSSREF_TEXT + "".join(f"x{n}: 1\n" for n in range(MAX_NODES // 2 - 500)), "my.yaml")

    assert time.monotonic() - started < SECONDS
    assert len(refused.value.message.splitlines()) == 51
    assert refused.value.message.endswith(f"and {MAX_NODES // 2 - 550} more mistakes")


def test_a_file_with_too_many_dates_is_refused_before_it_is_compiled() -> None:
    dated = "".join(f"- {{effective_from: {2030 + n}-01-01, max_attempts: 3}}\n" for n in range(MAX_COMPILES // 2))
    text = CROSSREF_TEXT.replace("retry:\n  initial: PT0.5S\n", f"retry:\n- initial: PT0.5S\n{dated}")
    rows = rows_of(read_source(text, "my.yaml"))
    started = time.monotonic()
    with pytest.raises(BadInput) as refused:
        check_rows(rows, datetime.now(UTC))

    assert time.monotonic() - started < SECONDS
    assert refused.value.code == "SOURCE_TOO_LARGE"


def test_shipped_files_are_far_from_every_limit() -> None:
    for text in shipped_sources().values():
        assert len(text) < MAX_BYTES / 20
        assert sum(1 for _ in yaml.parse(text)) < MAX_NODES / 5


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=6), min_size=1, max_size=30), st.sampled_from(["[]", ""])
)
@settings(max_examples=200, deadline=None)
def test_an_alias_counts_as_what_it_stands_for(lists: list[list[int]], first: str) -> None:
    """A text passes exactly when its document, written out, has the allowed size and depth."""
    sizes, heights = [1], [1]
    lines = [f"a0: &a0 {first or 'x'}"]
    for number, held in enumerate(lists, 1):
        named = [one % number for one in held]
        lines.append(f"a{number}: &a{number} [{', '.join(f'*a{one}' for one in named)}]")
        sizes.append(1 + sum(sizes[one] for one in named))
        heights.append(1 + max(heights[one] for one in named))
    fits = 1 + sum(sizes) + len(sizes) <= MAX_NODES and 1 + max(heights) <= MAX_DEPTH
    try:
        check_events(yaml.parse("\n".join(lines) + "\n"))
    except TooLarge:
        assert not fits
    else:
        assert fits
