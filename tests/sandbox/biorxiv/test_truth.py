"""What the truth says of a preprint is what its body says."""

from typing import Any

import pytest

from deployments.sandbox.biorxiv.history import posted
from deployments.sandbox.biorxiv.server import BIORXIV, MEDRXIV, Server
from deployments.sandbox.biorxiv.template import TEMPLATES
from deployments.sandbox.corpus import Corpus
from deployments.sandbox.instant import DAY_MS, to_ms
from deployments.sandbox.remote import Sandbox
from deployments.sandbox.settings import UNTIL, Settings
from tests.sandbox.biorxiv import careful
from tests.sandbox.biorxiv.client import key

SERVERS = ("biorxiv", "medrxiv")


@pytest.mark.parametrize("server", SERVERS)
def test_the_truth_is_what_is_served(sandbox: Sandbox, server: str) -> None:
    rows = sandbox.truth(server, record=True)
    served = {found: preprint for preprint in careful.harvest(sandbox, server=server) if (found := key(preprint))}

    for row in rows:
        if row["usable"]:
            preprint, record = served[row["id"]], row["record"]
            assert row["updated_at"][:10] == preprint["date"] == record["dates"]["published"]
            assert record["identifiers"] == {"doi": preprint["doi"].lower()}
            assert record.get("title", "") == preprint["title"].strip()
            assert record.get("abstract", "") == (preprint["abstract"] or "").strip()
            assert record.get("type", "") == preprint["type"]
            assert all(record.values())
    assert all((row["record"] is None) == (not row["usable"]) == bool(row["reason"]) for row in rows)


def test_authors_are_the_names_between_semicolons(sandbox: Sandbox) -> None:
    authors = [record.get("authors") for record in _records(sandbox)]

    assert [{"name": "Okafor, A."}, {"name": "Nguyen, B."}] in authors
    assert [{"name": "Haddad, N."}, {"name": 'The "ABC" Consortium & <friends>'}] in authors
    assert None in authors
    assert any(names and len(names) == 600 for names in authors)


def test_a_window_of_the_truth_is_as_coarse_as_a_day(sandbox: Sandbox) -> None:
    day = sandbox.truth("biorxiv", from_="2026-01-09", to="2026-01-10")

    assert day == sandbox.truth("biorxiv", from_="2026-01-08T00:00:01Z", to="2026-01-09T00:00:01Z")
    assert {row["updated_at"] for row in day} == {"2026-01-09T00:00:00.000000Z"}


@pytest.mark.parametrize(("server", "reasons"), [(BIORXIV, 5), (MEDRXIV, 5)])
def test_a_few_per_cent_cannot_be_used(server: Server, reasons: int) -> None:
    templates = TEMPLATES[server].templates

    assert len([template for template in templates if template.reason]) == reasons
    assert len(templates) in {100, 120}


def test_every_version_ever_posted_is_kept() -> None:
    corpus, end_ms = Corpus(Settings(works=500)), to_ms(UNTIL)
    everything = [version for history in corpus._histories for version in history]
    for from_ms, to_ms_, now_ms in ((None, None, end_ms), (end_ms - 5 * DAY_MS, end_ms - DAY_MS, end_ms - 3 * DAY_MS)):
        expected = {v for v in everything if (from_ms or 0) <= v.at_ms < (to_ms_ or end_ms) and v.at_ms <= now_ms}
        found = posted(corpus, from_ms, to_ms_, now_ms)
        assert set(found) == expected
        assert len(found) == len(expected)


def _records(sandbox: Sandbox) -> list[dict[str, Any]]:
    return [row["record"] for row in sandbox.truth("biorxiv", record=True) if row["record"]]
