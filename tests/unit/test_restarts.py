"""When a slice begins again: its token was refused, or its place at the provider is lost; never for a passing fault."""

from types import SimpleNamespace
from typing import Any

import pytest

from ingest_core.execution.walk import SliceRestart, raise_restart
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import ErrorLevel
from tests.support.specs import crossref_spec


def restart(kind: str, position: str, error: UpstreamError, page_no: int = 2, attempt_no: int = 2) -> str | None:
    """The code of the restart an error on a page leads to, if any."""
    paging = {"type": kind, "position": position}
    walk: Any = SimpleNamespace(
        task=SimpleNamespace(spec=crossref_spec(pagination=paging)), run=SimpleNamespace(attempt_no=attempt_no)
    )
    batch: Any = SimpleNamespace(page_no=page_no)
    try:
        raise_restart(walk, batch, error)
    except SliceRestart as begun:
        return begun.code
    return None


def failing(
    status: int, level: ErrorLevel = ErrorLevel.L1, *, moved: bool = True, in_detail: bool = False
) -> UpstreamError:
    """An answer of that status."""
    return UpstreamError(f"HTTP_{status}", "no", moved=moved, level=level, status=status, in_detail=in_detail)


@pytest.mark.parametrize("status", [400, 404, 410])
def test_a_token_that_is_refused_begins_the_slice_again(status: int) -> None:
    assert restart("TOKEN", "CLIENT", failing(status, ErrorLevel.L2)) == "TOKEN_REFUSED"


def test_a_500_may_hide_a_refused_token_when_it_comes_again() -> None:
    assert restart("TOKEN", "CLIENT", failing(500), attempt_no=1) is None
    assert restart("TOKEN", "CLIENT", failing(500), attempt_no=2) == "TOKEN_REFUSED"


@pytest.mark.parametrize("kind", ["OFFSET", "PAGE"])
@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_a_number_of_ours_cannot_be_refused(kind: str, status: int) -> None:
    assert restart(kind, "CLIENT", failing(status, ErrorLevel.L2)) is None
    assert restart(kind, "CLIENT", failing(status)) is None


def test_a_detail_that_fails_says_nothing_about_the_token() -> None:
    assert restart("TOKEN", "CLIENT", failing(500, in_detail=True)) is None
    assert restart("TOKEN", "SERVER", failing(500, moved=False, in_detail=True)) == "POSITION_LOST"


def test_a_place_the_provider_keeps_is_lost_with_the_answer() -> None:
    assert restart("TOKEN", "SERVER", failing(503)) == "POSITION_LOST"
    assert restart("TOKEN", "SERVER", failing(429, moved=False)) is None


def test_the_first_page_has_no_place_to_lose() -> None:
    assert restart("TOKEN", "SERVER", failing(503), page_no=1) is None
