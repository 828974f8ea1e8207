"""arXiv at times answers a later page with a feed that has no entries; asked again, it has them."""

import zlib

MOST_REMEMBERED = 100_000
ONE_IN = 7


class Hiccups:
    """Which pages come empty at first: the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._had: set[int] = set()

    def strikes(self, search: str, start: int) -> bool:
        """True the first time a page that is prone to it is asked for."""
        page = zlib.crc32(f"{self._seed}:{search}:{start}".encode())
        if start == 0 or page % ONE_IN or page in self._had or len(self._had) == MOST_REMEMBERED:
            return False
        self._had.add(page)
        return True

    def forget(self) -> None:
        """Let every page come empty once more."""
        self._had.clear()
