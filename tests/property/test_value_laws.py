"""Laws of what is taken from a record: whatever JSON a provider sends, nothing raises, and what comes out is plain."""

import re
from datetime import UTC, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest_core.execution.predicate import holds, words_of
from ingest_core.model.spec import PredicateSpec
from ingest_core.registry.dates import date_parts, parse_source_time, partial_date
from ingest_core.registry.extraction import compile_raw, compile_value, problems_of
from ingest_core.registry.paths import compile_path
from ingest_core.registry.values import FUNCTION_NAMES, find_function, plain, text_of
from tests.support.strategies import json_values

NAMES = ("a", "b", "#text", "@x", "Year", "Month", "Day", "date-parts")
DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
FUNCTIONS = [name for name in FUNCTION_NAMES if ":" not in name] + ["split:;", "join:, ", r"match:(\d+)", "match:x*"]
ZONES = st.sampled_from(["UTC", "America/New_York", "Asia/Tokyo", "Pacific/Kiritimati"])


def record_values() -> st.SearchStrategy[Any]:
    """Anything JSON can say, often under names a mapping looks for, often nearly a date."""
    texts = st.sampled_from(["2020", "2020-01-05", "Jan", "13", "0", " x ", "10.1/A", "", "1998 Dec-1999 Jan"])
    numbers = st.integers(-(10**25), 10**25) | st.integers(0, 2100) | st.integers(1, 31) | st.floats()
    leaves = st.none() | st.booleans() | numbers | texts | json_values(3)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
        max_leaves=12,
    )


def paths() -> st.SearchStrategy[str]:
    """A plain path over the names that occur."""
    step = st.sampled_from([".a", ".b", ".@x", "[0]", "[1]", "[*]", "['#text']", "[?(@.a=='2020')]"])
    return st.lists(step, max_size=4).map(lambda steps: "$" + "".join(steps))


def expressions() -> st.SearchStrategy[Any]:
    """An expression of any kind."""
    functions = st.sampled_from(FUNCTIONS)
    named = st.sampled_from(["p", "q"])

    def trees(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        several = st.lists(inner, min_size=1, max_size=3)
        return st.one_of(
            st.builds(
                lambda path, names: {"path": path, "as": names}, paths(), st.lists(functions, min_size=1, max_size=2)
            ),
            st.builds(lambda many: {"any": many}, several),
            st.builds(
                lambda many, text: {"join": many, "with": text}, st.lists(paths(), min_size=1), st.text(max_size=2)
            ),
            st.builds(lambda many: {"all": many}, several),
            st.builds(lambda many: {"collect": many}, st.lists(paths(), min_size=1)),
            st.builds(
                lambda path, fields: {"each": path, **fields}, paths(), st.dictionaries(named, inner, min_size=1)
            ),
            st.dictionaries(named, inner, min_size=1),
            st.just({"value": "always"}),
        )

    return st.recursive(paths(), trees, max_leaves=5)


@given(record_values())
@example([10**20])
@example({"Year": "9" * 5000})
def test_no_value_breaks_the_reading_of_a_date(value: Any) -> None:
    partial_date(value)
    date_parts(value)


@given(record_values())
@example("2020-W01-1")
def test_a_date_is_a_year_a_month_or_a_day_that_exists(value: Any) -> None:
    found = partial_date(value)

    assert found is None or DATE.fullmatch(found)
    assert found is None or partial_date(found) == found


@given(record_values(), ZONES)
@example([10**20], "UTC")
def test_no_value_breaks_the_reading_of_an_instant(value: Any, zone: str) -> None:
    found = parse_source_time(value, zone)

    assert found is None or (found.tzinfo is UTC and found.utcoffset() == timedelta(0))


@given(st.datetimes(), ZONES)
def test_an_instant_that_names_its_zone_is_the_same_in_every_source(moment: Any, zone: str) -> None:
    text = moment.isoformat() + "+05:00"

    assert parse_source_time(text, zone) == parse_source_time(text, "UTC")


@given(st.dates())
def test_a_day_is_read_however_it_is_written(day: Any) -> None:
    written = [day.isoformat(), day.strftime("%Y").zfill(4) + day.strftime("%m%d"), [[day.year, day.month, day.day]]]
    written += [{"Year": str(day.year), "Month": f"{day:%b}", "Day": f"{day:%d}"}]

    assert {partial_date(one) for one in written} == {day.isoformat()}


def is_plain(value: Any) -> bool:
    """Text without space around it, a list of such, or nothing."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, str) and one == one.strip() and one for one in value)
    return value is None or (isinstance(value, str) and value == value.strip() and bool(value))


@given(record_values())
def test_what_is_plain_is_text_or_a_flat_list_of_texts(value: Any) -> None:
    assert is_plain(plain(value))
    assert plain(plain(value)) == plain(value)
    found = text_of(value)
    assert found is None or (isinstance(found, str) and found == found.strip() and found)


@pytest.mark.parametrize("name", FUNCTIONS)
@given(record_values())
@example({"a": [1, "x"]})
@example([10**20])
def test_no_value_breaks_a_function(name: str, value: Any) -> None:
    found = find_function(name)(value)

    assert found is None or isinstance(found, str | list)


@given(paths(), record_values())
def test_no_value_breaks_a_path(path: str, value: Any) -> None:
    compile_path(path)(value)
    assert is_plain(compile_value(path)(value))


@given(expressions(), record_values())
def test_no_value_breaks_an_expression(expression: Any, value: Any) -> None:
    assert list(problems_of(expression, "m")) == []
    found = compile_value(expression)(value)

    assert found is None or isinstance(found, str | list | dict)
    assert found not in ([], {})
    compile_raw(expression)(value)


@given(paths(), record_values(), st.none() | json_values(2), st.none() | st.sampled_from(["x", r"^\d+$", "."]))
def test_no_value_breaks_a_predicate(path: str, value: Any, equals: Any, matches: str | None) -> None:
    predicate = PredicateSpec(path=path, equals=equals, matches=matches)

    assert holds(predicate, value) in (True, False)
    assert isinstance(words_of(predicate, value), str)
