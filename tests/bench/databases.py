"""New databases of each kind that is here."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from tests.support.servers import DIALECTS, Missing, Server, find_server, stop_server, temporary_database


@dataclass(frozen=True)
class Servers:
    """The servers that were found."""

    found: dict[str, Server]

    @property
    def dialects(self) -> list[str]:
        """Which kinds there are."""
        return list(self.found)

    def new_database(self, dialect: str) -> AbstractContextManager[str]:
        """The URL of an empty database that is gone afterwards."""
        return temporary_database(self.found[dialect])


@contextmanager
def open_servers(wanted: list[str]) -> Iterator[Servers]:
    """Every server that can be had; the reason is printed for one that cannot."""
    found = {}
    for dialect in (one for one in DIALECTS if one in wanted):
        server = find_server(dialect)
        if isinstance(server, Missing):
            print(f"{dialect}: left out, {server.reason}")
        else:
            found[dialect] = server
    try:
        yield Servers(found)
    finally:
        for server in found.values():
            stop_server(server)
