"""Warnings about a source's first page: settings that would end a harvest early, or leave its end in doubt."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from itertools import islice, pairwise
from typing import Any

from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging import paginator_of
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import PaginationSpec, SpecSnapshot
from ingest_core.registry.paths import EVERY, TEXT, PathStep, Where, compile_path, compile_steps, plain_steps

SIMILAR = 0.8
"""How alike two names must be for one to be a misspelling of the other (difflib's ratio)."""

MOST_NAMES = 1_000
LONGEST_NAME = 100
"""Bounds on the names that are compared: a comparison takes quadratic time."""


@dataclass(frozen=True)
class FirstPage:
    """A first page as the checks see it."""

    page: DecodedPage
    # The parsed answer that the paths of `response` and `pagination` go over.
    document: Any
    # Update times of the usable records, in the provider's order.
    times: Sequence[datetime]


def page_warnings(spec: SpecSnapshot, first: FirstPage) -> list[str]:
    """What to look at before the source is harvested; nothing for a source that is asked by id alone."""
    paging = spec.pagination
    if paging is None:
        return []
    return [
        *_no_next_place(paging, first.page),
        *_total_not_found(spec, first.page),
        *_wrong_paths(paging, first.document),
        *_short_page(paging, first.page),
        *_not_ascending(paging, first),
        *_weak_end(spec, paging, first.page),
    ]


def _no_next_place(paging: PaginationSpec, page: DecodedPage) -> Iterator[str]:
    """A page that should name a next one and does not: the path may be wrong."""
    paginator = paginator_of(paging)
    if not paginator.linked or page.next_token is not None or page.has_more is False:
        return
    key, path = paginator.next_path()
    if page.total is not None and page.count < page.total:
        yield f"{key} {path} found no next page after {page.count} of {page.total} records. Check the path."
    elif page.total is None and page.count >= paging.page_size:
        yield (
            f"{key} {path} found no next page on a full page of {page.count} records: "
            "a harvest would end here as PARTIAL. Check the path."
        )


def _total_not_found(spec: SpecSnapshot, page: DecodedPage) -> Iterator[str]:
    path = spec.response.total_path
    if path and page.total is None:
        yield f"response.total {path} found no total on the page. Check the path, or remove `response.total`."


def _wrong_paths(paging: PaginationSpec, document: Any) -> Iterator[str]:
    """Paths that found nothing where a page without the value would look different."""
    next_path = paginator_of(paging).next_path()
    named = [next_path, ("pagination.has_more", paging.has_more_path), ("pagination.step", paging.step_path)]
    for key, path in named:
        if path and compile_path(path)(document) in (None, []):
            reason = _misspelt(path, document)
            if reason:
                yield f"{key} {path} found nothing: {reason}. Check the path."


def _misspelt(path: str, document: Any) -> str | None:
    """Why the path looks wrong: its parent is absent, or has a name much like the one that is missing."""
    steps = plain_steps(path) or ()
    steps = steps[:-1] if steps[-1:] == (TEXT,) else steps
    if not steps:
        return None
    # A list that is searched for one element may lack that element, but not itself.
    searched = next((at for at, one in enumerate(steps) if one == EVERY or isinstance(one, Where)), None)
    parent, missing = (steps[:searched], None) if searched is not None else (steps[:-1], steps[-1])
    around = compile_steps(parent)(document)
    if around is None:
        return f"the page has no {_written(parent)}"
    absent = isinstance(around, dict) and isinstance(missing, str) and missing not in around
    names = [one for one in islice(around, MOST_NAMES) if len(one) <= LONGEST_NAME] if absent else []
    alike = get_close_matches(str(missing), names, 1, SIMILAR)
    return f"the page has {_written((*parent, alike[0]))}" if alike else None


def _written(steps: Sequence[PathStep]) -> str:
    """The steps as a path."""
    shown = (f"[{one}]" if isinstance(one, int) else f".{one}" if _is_word(one) else f"['{one}']" for one in steps)
    return "$" + "".join(shown)


def _is_word(step: PathStep) -> bool:
    return plain_steps(f"$.{step}") == (step,)


def _short_page(paging: PaginationSpec, page: DecodedPage) -> Iterator[str]:
    """Fewer records than were asked for, although there are more; with `step` the provider says so itself."""
    if page.total is None or paging.step_path or not page.count < min(paging.page_size, page.total):
        return
    held = f"the page holds {page.count} records, {paging.page_size} were asked for and the total is {page.total}"
    if page.count:
        yield f"{held}: the provider may give at most {page.count} per page. Set `pagination.max_page_size` to that."
    else:
        yield f"{held}: records are missing. Check `response.items`."


def _not_ascending(paging: PaginationSpec, first: FirstPage) -> Iterator[str]:
    # In two phases the records come in the order of the detail answer, which says nothing of the search.
    if not paging.ascending or first.page.listed is not None:
        return
    for earlier, later in pairwise(first.times):
        if later < earlier:
            yield (
                f"pagination.ascending is true, but a record of {format_instant(later)} follows one of "
                f"{format_instant(earlier)}. Ask the provider for that order, or remove `pagination.ascending`."
            )
            return


def _weak_end(spec: SpecSnapshot, paging: PaginationSpec, page: DecodedPage) -> Iterator[str]:
    """Nothing on the page confirms the end of a result; a slice of TIME paging ends with its only page."""
    paginator = paginator_of(paging)
    single = not (paginator.linked or paginator.counted)
    if spec.response.total_path or page.has_more is not None or single:
        return
    sign = "a missing next place" if paginator.linked else "a short or empty page"
    yield (
        f"the page states neither a total nor whether more follows: {sign} is the only sign of the end, and records "
        "lost before it go unnoticed. Set `response.total` or `pagination.has_more` if the provider states one."
    )
