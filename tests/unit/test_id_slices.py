"""Ids in slices: in ranges as they come, or in buckets of their hashes."""

from collections.abc import Iterator

import pytest

from ingest_core.planning.estimate import StoredEstimates
from ingest_core.planning.strategies.id_slices import IdStrategy, bucket_of
from ingest_core.planning.strategies.strategy import Piece, SliceContext
from ingest_core.planning.window import PATROL
from tests.support.specs import crossref_spec, pubmed_spec, span

BATCH = 2
SIZE = 10 * BATCH


def pieces(ids: Iterator[str], buckets: int | None = None) -> Iterator[Piece]:
    """The slices of these ids, by detail requests of two."""
    spec = pubmed_spec()
    assert spec.detail is not None
    detail = spec.detail.model_copy(update={"id_batch_size": BATCH})
    slicing = spec.slicing.model_copy(update={"id_buckets": buckets})
    spec = spec.model_copy(update={"detail": detail, "slicing": slicing, "window": None})
    return IdStrategy().pieces(SliceContext(spec, PATROL, span("00:00", "06:00"), [], StoredEstimates(0), ids=ids))


def numbered(count: int) -> list[str]:
    return [f"{number:06d}" for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, SIZE, SIZE + 1, 5 * SIZE])
@pytest.mark.parametrize("buckets", [None, 1, 7])
def test_every_id_is_in_one_slice_of_at_most_ten_requests(count: int, buckets: int | None) -> None:
    ids = numbered(count)
    found = list(pieces(iter(ids), buckets))

    assert sorted(one for piece in found for one in piece.ids) == ids
    assert all(0 < len(piece.ids) <= SIZE for piece in found)
    assert all(piece.estimate.records == len(piece.ids) for piece in found)


def test_a_range_names_its_first_and_last_id() -> None:
    found = list(pieces(iter(numbered(SIZE + 5))))

    assert [piece.bounds["range"] for piece in found] == [
        {"key": "provider_id", "from": "000000", "to": "000019"},
        {"key": "provider_id", "from": "000020", "to": "000024"},
    ]


def test_a_bucket_holds_the_ids_of_one_hash() -> None:
    for piece in pieces(iter(numbered(200)), 7):
        bounds = piece.bounds["range"]
        assert bounds["buckets"] == 7
        assert {bucket_of(one, 7) for one in piece.ids} == {bounds["bucket"]}


def test_a_bucket_is_the_same_everywhere() -> None:
    assert [bucket_of(one, 128) for one in ("38000001", "10.1000/182", "é")] == [3, 2, 83]


def test_ids_are_taken_as_slices_are_wanted() -> None:
    taken: list[str] = []

    def endless() -> Iterator[str]:
        for number in range(10**9):
            taken.append(str(number))
            yield taken[-1]

    next(pieces(endless()))
    assert len(taken) == SIZE
    next(pieces(endless(), 7))
    assert len(taken) < SIZE + 7 * SIZE


def test_a_source_that_follows_time_is_not_cut_by_id() -> None:
    assert IdStrategy().refusal(crossref_spec())
    assert IdStrategy().refusal(crossref_spec().model_copy(update={"window": None})) is None
