"""The two preprint servers behind the API, and how they differ."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Server:
    """One preprint server; page sizes of 30 and of 100 have both been seen."""

    code: str
    page_size: int
    first_number: int


BIORXIV = Server(code="biorxiv", page_size=30, first_number=100_000)
MEDRXIV = Server(code="medrxiv", page_size=100, first_number=20_000_000)
