"""Where a page was, and what comes after it."""

from dataclasses import dataclass

from ingest_core.model.slice_codes import ResliceReason


@dataclass(frozen=True)
class Step:
    """What comes after a page: another one at `token`, or the end; `limit` when the end is ours.

    `requeues` when another attempt goes on there later.
    """

    token: str | None
    limit: str | None = None
    rewound: bool = False
    reslice: ResliceReason | None = None
    requeues: bool = False

    @property
    def ends(self) -> bool:
        """Whether no page is asked for after this one."""
        return self.token is None or self.limit is not None

    @property
    def completes(self) -> bool:
        """Whether the provider has no more."""
        return self.token is None


END = Step(None)


@dataclass(frozen=True)
class Place:
    """Where a page was: its token, its number, the records seen up to and with it, and the total stated before it.

    `repeats` is how often in a row this very page had come already.
    """

    token: str | None
    page_no: int
    distinct: int
    total_before: int | None = None
    rewinds: int = 0
    repeats: int = 0


@dataclass(frozen=True)
class Repetition:
    """How often in a row the same records came, going back not counted."""

    page: bytes = b""
    rewinds: int = 0
    times: int = 0

    def after(self, page: bytes, rewinds: int) -> "Repetition":
        """The same with one more page."""
        same = bool(page) and page == self.page and rewinds == self.rewinds
        return Repetition(page, rewinds, self.times + 1 if same else 0)
