"""What Prefect's server says about a form names the fields as people see them."""

from typing import Any

import pytest
from prefect.utilities.callables import parameter_schema
from prefect.utilities.schema_tools.validation import build_error_obj, validate

from flows.backfill import backfill
from flows.deploying.forms import form_schema
from flows.up.form_labels import titles_of, with_labels

SCHEMA: dict[str, Any] = form_schema(parameter_schema(backfill).model_dump(exclude_unset=True), ["crossref"], {})
TITLES = titles_of(SCHEMA)


def messages(asked: dict[str, Any]) -> list[str]:
    """What the server says of a form, with labels."""
    return [with_labels(error.message, TITLES) for error in validate({"parameters": asked}, SCHEMA)]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, ["'Source' is missing", "'From' is missing"]),
        ({"source": "crossref", "window_from": "2026-01-01", "priority": 12}, ["12 is greater than the maximum of 9"]),
        ({"source": "nonesuch", "window_from": "2026-01-01"}, ["'nonesuch' is not one of ['crossref']"]),
    ],
    ids=str,
)
def test_a_missing_field_is_named_by_its_label(asked: dict[str, Any], said: list[str]) -> None:
    assert messages(asked) == said


def test_a_path_is_named_by_its_last_field_and_an_unknown_word_stays() -> None:
    said = "Validation failed for field 'parameters.pace.page_size'. Failure reason: 'x' is not of type 'integer'"
    assert with_labels(said, TITLES) == (
        "Validation failed for field 'Page size'. Failure reason: 'x' is not of type 'integer'"
    )


def test_the_pages_still_find_where_a_message_belongs() -> None:
    """Prefect takes the field from its own message, so the labels come after."""
    (group,) = build_error_obj(validate({"parameters": {}}, SCHEMA))["errors"]
    assert [one["property"] for one in group["errors"]] == ["source", "window_from"]
