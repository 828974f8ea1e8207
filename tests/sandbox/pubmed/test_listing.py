"""The listing that esearch searches is drawn up once, and never out of date."""

from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.instant import DAY_MS, to_ms
from deployments.sandbox.present import Present
from deployments.sandbox.pubmed.catalogue import Catalogue
from deployments.sandbox.pubmed.listing import Index, Listing
from deployments.sandbox.settings import UNTIL, Settings

END_MS = to_ms(UNTIL)


def _open() -> tuple[Present, Index]:
    corpus = Corpus(Settings(works=60))
    present = Present(corpus, SandboxClock())
    present.clock.move(END_MS)
    return present, Index(present, Catalogue(corpus))


def _versions(listing: Listing) -> set[Version]:
    return {facts.version for facts in listing.at(listing.everywhere)}


def test_a_listing_lasts_while_nothing_changes() -> None:
    present, index = _open()
    listing = index.listing()
    present.clock.move(END_MS + DAY_MS)

    assert index.listing() is listing
    assert _versions(listing) == set(present.window())


def test_a_touched_work_is_listed_anew() -> None:
    present, index = _open()
    touched = index.listing().at(index.listing().everywhere)[0].version
    present.clock.move(END_MS + DAY_MS)
    present.touch([touched])

    assert touched not in _versions(index.listing())
    assert _versions(index.listing()) == set(present.window())


def test_a_listing_follows_the_clock_to_each_version_and_back() -> None:
    present, index = _open()
    for version in [*present.corpus._timeline, *reversed(present.corpus._timeline)]:
        for now_ms in (version.at_ms - 1, version.at_ms, version.at_ms + 1):
            present.clock.move(now_ms)
            assert _versions(index.listing()) == set(present.window())


def test_a_touch_in_the_past_is_not_mistaken_for_what_was_listed_before() -> None:
    present, index = _open()
    first, last = present.corpus._timeline[0], present.corpus._timeline[-1]
    index.listing()
    present.clock.move(first.at_ms + 1)
    present.touch([first])
    # As many versions have appeared as when the listing was drawn up, but not the same ones.
    present.clock.move(last.at_ms - 1)

    assert _versions(index.listing()) == set(present.window())
