"""Patterns of source files: their size is bounded when they are read, their input and time when they match."""

import re
import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_core.registry import patterns
from ingest_core.registry.bounds import BoundExceeded
from ingest_core.registry.extraction import paths_in
from ingest_core.registry.patterns import (
    MAX_MATCHED_CHARS,
    MAX_PATTERN_CHARS,
    MAX_PATTERN_DEPTH,
    MAX_PATTERN_SIZE,
    PageTimeout,
    PatternRefused,
    PatternTimeout,
    compile_pattern,
    page_match_time,
)
from ingest_core.registry.read import read_source
from ingest_core.shipped import shipped_sources

SLOW = "(a|aa)+$"
VICTIM = "a" * 60 + "b"


@pytest.fixture
def short_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a slow pattern reaches within a test's time."""
    monkeypatch.setattr(patterns, "RECORD_SECONDS", 0.1)
    monkeypatch.setattr(patterns, "PAGE_SECONDS", 0.25)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a" * (MAX_PATTERN_CHARS + 1), "1,001 characters, more than 1,000"),
        ("(a{1000}){1000}", "more than 10,000 parts"),
        ("((((a{10}){10}){10}){10}){10}", "more than 10,000 parts"),
        ("a{100000000}", "more than 10,000 parts"),
        ("a{99999999999999999999}", "more than 10,000 parts"),
        ("(?:a{0,200}){0,200}", "more than 10,000 parts"),
        ("(" * (MAX_PATTERN_DEPTH + 1) + ")" * (MAX_PATTERN_DEPTH + 1), "nested more than 50 deep"),
        ("(?:limit){e<=2}", "column 10: `{` begins no counted repeat"),
        ("a{,}", "column 2: `{` begins no counted repeat"),
        ("[[:alpha:]]", "column 2: `[` in a character class; write \\["),
        ("[a||b]", "column 3: `|` in a character class"),
        ("[+--]", "column 3: `-` in a character class"),
        ("(?x)a # (", "the flag `x`"),
        ("(?i-x:a)", "the flag `x`"),
        ("(?#a comment)b", "comments"),
        ("(", "does not parse: missing )"),
        ("(?R)", "does not parse"),
        (r"\pL", "does not parse: bad escape"),
        ("*", "does not parse: nothing to repeat"),
    ],
)
def test_a_pattern_that_could_explode_or_means_another_thing_to_re_is_refused(text: str, said: str) -> None:
    started = time.process_time()
    with pytest.raises(PatternRefused, match=re.escape(said)):
        compile_pattern(text)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "text",
    [
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        f"a{{{MAX_PATTERN_SIZE}}}",
        "[]{}()]+",
        r"[^\]{]\{\}",
        "(?i)abc|(?:x(?=y))(?<!z)(?P<n>.)(?P=n)",
        "(" * (MAX_PATTERN_DEPTH - 1) + ")" * (MAX_PATTERN_DEPTH - 1),
        "a{,5}b{2,}c{3}?",
    ],
)
def test_usual_patterns_are_taken(text: str) -> None:
    assert compile_pattern(text).text == text


@given(st.text(alphabet="ab(){}[]|*+?,0129\\^$.:-&~", max_size=30))
def test_any_text_is_a_pattern_that_finds_what_re_finds_or_is_refused(text: str) -> None:
    try:
        pattern = compile_pattern(text)
    except PatternRefused:
        return
    for victim in ("", "ab", "a{b}", "0a1b2", "(a)[b]"):
        try:
            found = pattern.search(victim)
        except PatternTimeout:
            return
        by_re = re.search(text, victim)
        assert (found and found.span()) == (by_re and by_re.span())


def test_every_pattern_of_the_shipped_sources_compiles() -> None:
    found = []
    for name, text in shipped_sources().items():
        source = read_source(text, name)
        assert list(paths_in(source.mapping))
        found += re.findall(r"(?:match:|matches: \"|pattern: [\"'])([^\"'\n]+)", text)
    assert len(found) > 30
    for one in found:
        compile_pattern(one.encode().decode("unicode_escape") if "\\\\" in one else one)


def test_a_text_beyond_the_bound_is_not_matched() -> None:
    pattern = compile_pattern("[^/]+$")
    assert pattern.search("a" * MAX_MATCHED_CHARS) is not None
    with pytest.raises(BoundExceeded, match="takes at most 65,536 characters, got 65,537") as exceeded:
        pattern.search("a" * (MAX_MATCHED_CHARS + 1))
    assert exceeded.value.subject == "'[^/]+$'"


@pytest.mark.usefixtures("short_time")
@pytest.mark.parametrize("method", ["search", "fullmatch"])
def test_a_match_that_takes_too_long_is_given_up_with_the_pattern_named(method: str) -> None:
    match: Callable[[str], object] = getattr(compile_pattern(SLOW), method)
    with pytest.raises(PatternTimeout, match=re.escape(f"pattern '{SLOW}' took more than 0.1 s on a text of 61")):
        match(VICTIM)


@pytest.mark.usefixtures("short_time")
def test_other_threads_run_while_a_slow_pattern_is_matched() -> None:
    beats = 0
    done = threading.Event()

    def beat() -> None:
        nonlocal beats
        while not done.wait(0.005):
            beats += 1

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        with pytest.raises(PatternTimeout):
            compile_pattern(SLOW).search(VICTIM)
    finally:
        done.set()
        thread.join()
    assert beats >= 3


@pytest.mark.usefixtures("short_time")
def test_a_page_has_one_time_for_all_its_records() -> None:
    pattern, errors = compile_pattern(SLOW), []
    with page_match_time() as left:
        for _ in range(10):
            left.next_record()
            try:
                pattern.search(VICTIM)
            except (PatternTimeout, PageTimeout) as error:
                errors.append(str(error))
    assert "took more than 0.1 s" in errors[0]
    assert errors[-1].startswith("the patterns took more than 0.25 s on the records of one page, the last one was ")


@pytest.mark.usefixtures("short_time")
def test_all_matches_on_one_record_share_its_time() -> None:
    pattern = compile_pattern(SLOW)
    with page_match_time():
        with pytest.raises(PatternTimeout):
            pattern.search(VICTIM)
        with pytest.raises(PatternTimeout):
            pattern.search("a")  # quick, but the record's time is spent
    assert pattern.search("a") is not None
