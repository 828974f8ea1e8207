"""Pages kept as they were written, for a sandbox that must answer faster than any client can read."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Written:
    """A page's works as JSON, and their ids."""

    items: bytes
    ids: tuple[str, ...]


class PageShelf:
    """So many pages, the longest unused gives way first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._pages: OrderedDict[Hashable, Written] = OrderedDict()

    def get(self, page: Hashable, write: Callable[[], Written]) -> Written:
        """The page of these versions, written now unless it is kept."""
        if page in self._pages:
            self._pages.move_to_end(page)
            return self._pages[page]
        written = write()
        if self._size:
            self._pages[page] = written
            if len(self._pages) > self._size:
                self._pages.popitem(last=False)
        return written
