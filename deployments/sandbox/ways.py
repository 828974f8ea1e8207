"""The switches of the shelf: each is a habit some real provider has."""

from dataclasses import dataclass
from enum import StrEnum


class Total(StrEnum):
    """What the shelf says of the size of a result."""

    EXACT = "exact"
    FIRST = "first"  # on the first page only
    NONE = "none"
    WOBBLES = "wobbles"  # three more on every other answer
    OVER = "over"  # two more than there are


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


class Versions(StrEnum):
    """Which versions of a record are found."""

    LATEST = "latest"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Ways:
    """How the shelf behaves; as it stands, it does everything right."""

    total: Total = Total.EXACT
    total_cap: int | None = None
    reach: int | None = None
    beyond: Beyond = Beyond.REFUSED
    page_base: int = 1
    more: More = More.UNSAID
    short_every: int = 0
    hidden_every: int = 0
    overlap: int = 0
    stutters: bool = False
    lose_next: int = 0
    empty_end: bool = False
    token_ttl_seconds: float | None = None
    next_base: str | None = None
    versions: Versions = Versions.LATEST
    day_stamps: bool = False
    listed_twice: bool = False
    lost_every: int = 0
    bad_every: int = 0
    uninvited: bool = False
    unnumbered_every: int = 0

    def __post_init__(self) -> None:
        for name, kind in (("total", Total), ("more", More), ("beyond", Beyond), ("versions", Versions)):
            object.__setattr__(self, name, kind(getattr(self, name)))
