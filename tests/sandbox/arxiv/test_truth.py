"""What the truth says of a paper is what its entry says."""

from deployments.sandbox.arxiv.catalogue import Catalogue
from deployments.sandbox.arxiv.identity import read_id
from deployments.sandbox.arxiv.template import TEMPLATES
from deployments.sandbox.corpus import Corpus
from deployments.sandbox.remote import Sandbox
from deployments.sandbox.settings import Settings
from tests.sandbox.arxiv import careful
from tests.sandbox.arxiv.client import ARXIV, ATOM, SOURCE, bare_ids, feed
from tests.sandbox.wire import true_records


def test_the_truth_is_what_is_served(sandbox: Sandbox) -> None:
    rows = {row["id"]: row for row in sandbox.truth(SOURCE, record=True)}
    served = {name: entry for entry in careful.harvest(sandbox) for name in bare_ids([entry])}

    for name, row in rows.items():
        if row["usable"]:
            entry, record = served[name], row["record"]
            assert row["updated_at"].replace(".000000", "") == entry.findtext(f"{ATOM}updated")
            assert record["dates"]["published"] == entry.findtext(f"{ATOM}published", "")[:10]
            assert record["dates"]["published"] <= row["updated_at"][:10]
            assert record["identifiers"].get("doi", "") == (entry.findtext(f"{ARXIV}doi") or "").lower()
            assert all(record.values())
    assert all((row["record"] is None) == (not row["usable"]) == bool(row["reason"]) for row in rows.values())


def test_a_recorded_paper_is_mapped_by_hand(sandbox: Sandbox) -> None:
    entry = feed(sandbox, 'ti:"oil palm tree"').entries[0]
    record = true_records(SOURCE, sandbox)[bare_ids([entry])[0]]

    assert record["title"] == (
        "Cross-regional oil palm tree counting and detection via multi-level attention domain adaptation network"
    )
    assert [author["name"] for author in record["authors"]][::6] == ["Juepeng Zheng", "Le Yu"]
    assert record["identifiers"]["doi"] == "10.1016/j.isprsjprs.2020.07.002"
    assert record["journal"] == {"title": "ISPRS Journal of Photogrammetry and Remote Sensing 2020"}
    assert record["type"] == "cs.CV"
    assert record["abstract"].startswith(
        "Providing an accurate evaluation of palm tree plantation in a large region can"
    )


def test_authors_without_a_name_are_left_out(sandbox: Sandbox) -> None:
    authors = [record.get("authors", []) for record in true_records(SOURCE, sandbox).values()]

    assert [{"name": "The ATLAS Collaboration"}] in authors
    assert any(len(names) == 900 for names in authors)


def test_text_is_read_as_xml_means_it(sandbox: Sandbox) -> None:
    records = true_records(SOURCE, sandbox).values()

    assert "CDATA & <tags> and more" in {record.get("title") for record in records}
    assert 'Entities é—\U0001f600 and "quotes" inside' in {record.get("abstract") for record in records}
    assert {"title", "abstract", "type"} <= {
        name for r in records for name in ("title", "abstract", "type") if name not in r
    }


def test_every_id_is_its_own() -> None:
    catalogue = Catalogue(Corpus(Settings(works=600)))
    keys = [catalogue.key(work) for work in range(60_000)]

    assert len(set(keys)) == 60_000
    assert all(read_id(keys[work]) == work for work in range(0, 60_000, 7))
    assert [catalogue.find(key) for key in keys[590:610]] == [*range(590, 600), *[None] * 10]
    assert catalogue.find("9999.99999") is None


def test_a_few_per_cent_cannot_be_used() -> None:
    reasons = [template.reason for template in TEMPLATES.templates if template.reason]

    assert len(TEMPLATES.templates) == 120
    assert sorted(reasons) == ["ID_MISSING", "UPDATED_AT_INVALID", "UPDATED_AT_MISSING", "UPDATED_AT_MISSING"]
