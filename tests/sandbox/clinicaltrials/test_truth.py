"""What the truth says of a study is what its body says."""

from deployments.sandbox.clinicaltrials.template import TEMPLATES
from deployments.sandbox.remote import Sandbox
from tests.sandbox.clinicaltrials import careful
from tests.sandbox.clinicaltrials.client import SOURCE, page, updated
from tests.sandbox.wire import true_records


def test_the_truth_is_what_is_served(sandbox: Sandbox) -> None:
    rows = {row["id"]: row for row in sandbox.truth(SOURCE, record=True)}
    studies = careful.harvest(sandbox, pageSize=1000)
    usable = {
        number: updated(study)
        for study in studies
        if (number := study["protocolSection"]["identificationModule"].get("nctId"))
        and (updated(study) or "").startswith("2026")
    }

    assert len(rows) == len(studies) == 240
    assert {number: row["updated_at"][:10] for number, row in rows.items() if row["usable"]} == usable
    assert all((row["record"] is None) == (not row["usable"]) == bool(row["reason"]) for row in rows.values())


def test_a_recorded_study_is_mapped_by_hand(sandbox: Sandbox) -> None:
    study = page(sandbox, query_titles='"intranasal oxytocin"', pageSize=1)["studies"][0]
    number = study["protocolSection"]["identificationModule"]["nctId"]
    record = true_records(SOURCE, sandbox)[number]

    assert record["title"] == "Piloting Treatment With Intranasal Oxytocin in Phelan-McDermid Syndrome"
    assert record["identifiers"] == {"nct": number}
    assert record["type"] == "INTERVENTIONAL"
    assert record["abstract"].startswith("This is a pilot study examining the efficacy")
    assert record["dates"] == {"created": study["protocolSection"]["statusModule"]["studyFirstPostDateStruct"]["date"]}
    assert "authors" not in record
    assert "journal" not in record


def test_authors_are_the_officials_who_have_a_name(sandbox: Sandbox) -> None:
    authors = [record.get("authors", []) for record in true_records(SOURCE, sandbox).values()]

    assert [{"name": "Study Director"}, {"name": 'Consortium <X> & "Y"'}] in authors
    assert any(len(names) == 400 for names in authors)


def test_a_record_never_says_nothing(sandbox: Sandbox) -> None:
    for record in true_records(SOURCE, sandbox).values():
        assert all(record.values())
        assert record.get("title", "x") == record.get("title", "x").strip()
    assert {len(r["dates"]["created"]) for r in true_records(SOURCE, sandbox).values() if "dates" in r} == {4, 7, 10}


def test_a_window_of_the_truth_is_as_coarse_as_a_day(sandbox: Sandbox) -> None:
    day = sandbox.truth(SOURCE, from_="2026-01-09", to="2026-01-10")

    assert day == sandbox.truth(SOURCE, from_="2026-01-08T00:00:01Z", to="2026-01-09T00:00:01Z")
    assert {row["updated_at"] for row in day} == {"2026-01-09T00:00:00.000000Z"}


def test_a_few_per_cent_cannot_be_used() -> None:
    reasons = [template.reason for template in TEMPLATES.templates if template.reason]

    assert len(TEMPLATES.templates) == 120
    assert sorted(reasons) == ["ID_MISSING", "UPDATED_AT_INVALID", "UPDATED_AT_MISSING", "UPDATED_AT_MISSING"]
