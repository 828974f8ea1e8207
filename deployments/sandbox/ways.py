"""The switches of the shelf: each is a habit some real provider has."""

from dataclasses import dataclass
from enum import StrEnum


class Total(StrEnum):
    """What the shelf says of the size of a result."""

    EXACT = "exact"
    FIRST = "first"  # on the first page only
    NONE = "none"
    WOBBLES = "wobbles"  # three more on every other answer
    OVER = "over"  # more than there are, by `total_off`: records the provider counts but does not serve
    UNDER = "under"  # fewer than there are, by `total_off`: a count kept in a cache, or counted by one shard
    ROUNDED = "rounded"  # up to the next hundred: OAI-PMH's completeListSize, Semantic Scholar


class More(StrEnum):
    """Whether an answer says that more follows."""

    UNSAID = "unsaid"
    RIGHT = "right"
    ALWAYS = "always"
    NEVER = "never"


class Beyond(StrEnum):
    """What comes behind the last record that may be reached."""

    REFUSED = "refused"
    REPEATED = "repeated"
    EMPTY = "empty"


class PastEnd(StrEnum):
    """How a counted page behind the last record is answered."""

    EMPTY = "empty"
    NOT_FOUND = "not_found"  # 404: page numbers of Django REST Framework
    REFUSED = "refused"  # 400: services that check the offset against the count


class DeadToken(StrEnum):
    """How an expired token is refused."""

    GONE = "gone"  # 410
    REFUSED = "refused"  # 400
    UNPROCESSABLE = "unprocessable"  # 422: Scopus
    IN_200 = "in_200"  # an error inside a 200: OAI-PMH's badResumptionToken, GraphQL


class NextShape(StrEnum):
    """How an answer names the next page."""

    PLAIN = "plain"
    HREF = "href"  # {"next": {"href": ...}}: HAL, JSON:API
    FLAG = "flag"  # {"next": true}
    LIST = "list"  # {"next": [...]}: an Elasticsearch sort key
    RENAMED = "renamed"  # {"continue": ...}: a new version of the API


class NextEnd(StrEnum):
    """What the last page says instead of a next place."""

    ABSENT = "absent"
    NULL = "null"
    BLANK = "blank"  # "": OAI-PMH's empty resumptionToken


class Endless(StrEnum):
    """What follows the last record where a result never ends."""

    NO = "no"
    CYCLE = "cycle"  # the first page again, under a new token: DataCite's cursor when it is counted
    NEW = "new"  # records that did not exist before: a filter the provider ignores


class Order(StrEnum):
    """The order of a result."""

    ASCENDING = "ascending"  # of time
    DESCENDING = "descending"  # newest first, the default of most search pages
    UNSORTED = "unsorted"  # by relevance or by internal id, but the same on each request


class Versions(StrEnum):
    """Which versions of a record are found."""

    LATEST = "latest"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Ways:
    """How the shelf behaves; as it stands, it does everything right."""

    total: Total = Total.EXACT
    total_off: int = 2
    total_cap: int | None = None
    reach: int | None = None
    beyond: Beyond = Beyond.REFUSED
    # NIH RePORTER and Elasticsearch: offset + size must not exceed the cap, or the request is a 400.
    cap: int | None = None
    past_end: PastEnd = PastEnd.EMPTY
    page_base: int = 1
    more: More = More.UNSAID
    short_every: int = 0
    # Providers that filter after paging (withdrawn or embargoed records) leave whole pages empty in the middle.
    withdrawn_every: int = 0
    withdrawn: int = 0
    hidden_every: int = 0
    overlap: int = 0
    stutters: bool = False
    lose_next: int = 0
    empty_end: bool = False
    next_shape: NextShape = NextShape.PLAIN
    next_end: NextEnd = NextEnd.ABSENT
    endless: Endless = Endless.NO
    order: Order = Order.ASCENDING
    token_ttl_seconds: float | None = None
    # A provider that restarts, or rebuilds its index, forgets the tokens it has given so far.
    token_answers: int | None = None
    dead_token: DeadToken = DeadToken.GONE
    next_base: str | None = None
    versions: Versions = Versions.LATEST
    day_stamps: bool = False
    listed_twice: bool = False
    lost_every: int = 0
    bad_every: int = 0
    uninvited: bool = False
    unnumbered_every: int = 0

    def __post_init__(self) -> None:
        for name, kind in CHOICES.items():
            object.__setattr__(self, name, kind(getattr(self, name)))
        if bool(self.withdrawn) != bool(self.withdrawn_every):
            raise ValueError("shelf: withdrawn and withdrawn_every need each other")


CHOICES: dict[str, type[StrEnum]] = {
    "total": Total,
    "beyond": Beyond,
    "past_end": PastEnd,
    "more": More,
    "next_shape": NextShape,
    "next_end": NextEnd,
    "endless": Endless,
    "order": Order,
    "dead_token": DeadToken,
    "versions": Versions,
}
"""The switches that are one of a few words."""
