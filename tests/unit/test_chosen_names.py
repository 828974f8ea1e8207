"""Run names: what a person typed is kept, and what Prefect invented is replaced by what the run is about."""

import pytest
from prefect.utilities.names import generate_slug

from flows.prefect_api.chosen_names import is_invented, starting_name


def test_every_name_that_prefects_server_invents_is_known() -> None:
    assert [name for name in (generate_slug(2) for _ in range(500)) if not is_invented(name)] == []


@pytest.mark.parametrize("name", ["Handcrafted-Brug", "Awesome-Vicuña", "alpha3-canis-majoris-void", "mu-vega"])
def test_names_that_prefects_pages_fill_in_are_known(name: str) -> None:
    assert is_invented(name)


@pytest.mark.parametrize(
    "name",
    ["winter-backfill", "before the move", "crossref-2026", "Small-steps", "Small-museum", "night", "x-y-z", "", "-"],
)
def test_a_name_that_a_person_typed_is_not_taken_for_an_invented_one(name: str) -> None:
    assert not is_invented(name)


@pytest.mark.parametrize(
    ("flow", "form", "name"),
    [
        ("planner", {"source": "crossref"}, "crossref harvest"),
        ("planner", {"source": "pubmed", "operation": "UPDATE"}, "pubmed update"),
        ("backfill", {"source": "crossref", "window_from": "2026-01-01"}, "crossref backfill"),
        ("executor", {}, "execute all sources"),
        ("executor", {"source": "crossref", "at_once": 2}, "execute crossref"),
        ("planner", {}, "harvest"),
        ("planner", None, "harvest"),
        ("planner", "nonsense", "harvest"),
        ("housekeeping", {}, "housekeeping"),
        ("somebody_elses", {"source": "crossref"}, None),
    ],
)
def test_a_run_is_named_by_its_form_before_it_begins(flow: str, form: object, name: str | None) -> None:
    assert starting_name(flow, {"parameters": form}) == name
