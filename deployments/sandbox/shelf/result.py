"""The records a request finds, in the order of the result."""

from deployments.sandbox.biorxiv.history import posted
from deployments.sandbox.corpus import Version
from deployments.sandbox.instant import DAY_MS, round_down, round_up, write_micros
from deployments.sandbox.present import Present
from deployments.sandbox.provider import Truth
from deployments.sandbox.ways import Order, Versions, Ways

Book = dict[str, object]


def key_of(version: Version) -> str:
    """The record's id, which all its versions share."""
    return f"book-{version.work:05d}"


def stamp_of(version: Version, ways: Ways) -> int:
    """The update time as it is told."""
    return round_down(version.at_ms, DAY_MS) if ways.day_stamps else version.at_ms


def book(version: Version, ways: Ways) -> Book:
    """The record as it is told."""
    stamp = write_micros(stamp_of(version, ways))
    title = f"{key_of(version)}, edition {version.number}"
    return {"id": key_of(version), "updated": stamp, "version": version.number, "title": title}


def found(present: Present, ways: Ways, from_ms: int | None, to_ms: int | None) -> list[Version]:
    """Every version of the window, in its order; what is hidden is among them."""
    unit = DAY_MS if ways.day_stamps else 1
    first, last = round_up(from_ms, unit), round_up(to_ms, unit)
    if ways.versions is Versions.LATEST:
        return _in_order(present.window(first, last), present, ways.order)
    every = posted(present.corpus, first, last, present.now_ms())
    # The latest version of a day comes first: whoever lets the last one win is wrong.
    return sorted(every, key=lambda one: (stamp_of(one, ways), one.work, -one.number))


def _in_order(versions: list[Version], present: Present, order: Order) -> list[Version]:
    if order is Order.DESCENDING:
        return versions[::-1]
    return versions if order is Order.ASCENDING else sorted(versions, key=lambda one: present.corpus.draw(one.work))


def hidden(version: Version, ways: Ways) -> bool:
    """Whether a record is counted as passed but never shown."""
    return bool(ways.hidden_every) and version.work % ways.hidden_every == 0


def truths(versions: list[Version], ways: Ways) -> list[Truth]:
    """What a harvest must end up with: of each record that is ever shown, its latest version."""
    latest: dict[str, Version] = {}
    for version in versions:
        known = latest.get(key_of(version))
        if not hidden(version, ways) and (known is None or known.number < version.number):
            latest[key_of(version)] = version
    return [
        Truth(key, stamp_of(one, ways), one.number, None, lambda one=one: {"title": book(one, ways)["title"]})  # type: ignore[misc]
        for key, one in latest.items()
    ]
