"""A preprint server forgets nothing: each version stays where it was posted."""

from collections.abc import Iterator

from deployments.sandbox.corpus import Corpus, Version


def posted(corpus: Corpus, from_ms: int | None, to_ms: int | None, now_ms: int) -> list[Version]:
    """Every version posted in `[from, to)` and by now, later ones of the same preprint notwithstanding."""
    # Each preprint's last version within is the one that was visible when the window, or the present, ended.
    end_ms = now_ms if to_ms is None else min(now_ms, to_ms - 1)
    last = corpus.window(from_ms, to_ms, end_ms)
    return [version for late in last for version in back(corpus, late, from_ms)]


def back(corpus: Corpus, version: Version, from_ms: int | None = None) -> Iterator[Version]:
    """The version and those before it, latest first, down to `from`."""
    earlier: Version | None = version
    while earlier is not None and (from_ms is None or earlier.at_ms >= from_ms):
        yield earlier
        earlier = corpus.current(earlier.work, earlier.at_ms - 1)
