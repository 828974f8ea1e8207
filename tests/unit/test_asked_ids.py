"""A refresh is asked for ids that the provider could have given, and for no others."""

import pytest

from ingest_core.model.errors import BadInput
from ingest_core.registry.asked_ids import check_asked_ids
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import Row, rows_of
from ingest_core.shipped import shipped_sources


def provenance(source: str) -> Row:
    """A shipped source's own row."""
    (row,) = rows_of(read_source(shipped_sources()[f"{source}.yaml"], source))["reg_provenance"]
    return row


@pytest.mark.parametrize(
    ("source", "good", "bad"),
    [
        ("pubmed", "31452104", "PMC31452104"),
        ("pubmed", " 7 ", "007"),
        ("clinicaltrials", "NCT00000102", "NCT102"),
        ("arxiv", "2101.00001", "2101.00001v2"),
        ("arxiv", "math.AG/0211159", "arXiv:math/0211159"),
        ("semanticscholar", "649def34f8be52c8b66281af98ae884c09aef38b", "CorpusId:215416146"),
    ],
)
def test_a_shipped_source_knows_its_ids(source: str, good: str, bad: str) -> None:
    check_asked_ids(provenance(source), [good])
    with pytest.raises(BadInput) as refused:
        check_asked_ids(provenance(source), [good, bad])
    assert repr(bad) in refused.value.message
    assert repr(good) not in refused.value.message


def test_an_id_is_matched_in_its_normal_form_and_whole() -> None:
    row: Row = {"provenance_code": "books", "id_normalizer_code": "DOI", "id_pattern": "[a-z]+"}
    check_asked_ids(row, [" ABC "])
    with pytest.raises(BadInput):
        check_asked_ids(row, ["abc-1"])


def test_a_long_list_is_refused_by_its_first_wrong_ids() -> None:
    with pytest.raises(BadInput) as refused:
        check_asked_ids(provenance("pubmed"), ["1", *(f"x{number}" for number in range(9_999))])
    assert refused.value.code == "ID_INVALID"
    assert "'x0', 'x1', 'x2', ..." in refused.value.message


@pytest.mark.parametrize("pattern", [None, "[0-9]+"])
def test_a_source_without_a_pattern_takes_any_id_and_no_ids_are_fine(pattern: str | None) -> None:
    row: Row = {"provenance_code": "books", "id_normalizer_code": "NONE", "id_pattern": pattern}
    check_asked_ids(row, [])
    if pattern is None:
        check_asked_ids(row, ["anything"])


def test_an_id_too_long_to_match_is_refused() -> None:
    row: Row = {"provenance_code": "books", "id_normalizer_code": "NONE", "id_pattern": ".*"}
    with pytest.raises(BadInput):
        check_asked_ids(row, ["x" * 70_000])
