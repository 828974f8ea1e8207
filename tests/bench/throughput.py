"""Harvesting against the floor, turn by turn, each in a process and a database of its own."""

from collections.abc import Callable
from statistics import median

from ingest_core.settings import Settings
from tests.bench.databases import Servers
from tests.bench.harvest import prepare
from tests.bench.measured import Measured, measure
from tests.bench.upstream import PAGE, sandbox

Turns = list[Measured]


def harvest(url: str, upstream: str) -> Measured:
    """Patra's harvest of everything into that new database; only its executing counts."""
    prepare(Settings(database_url=url, upstreams={"crossref": upstream}))
    return measure("tests.bench.harvest", url, upstream)


def floor(url: str, upstream: str) -> Measured:
    """The same works by hand."""
    return measure("tests.bench.floor", url, upstream)


def compare_harvests(servers: Servers, works: int, rounds: int) -> None:
    """Print records/s, memory and the ratio for every database."""
    print(f"harvest of {works} works, {PAGE} a page: medians of {rounds} turns, and each turn's ratio")
    print(f"{'database':<12}{'floor rec/s':>12}{'MB':>6}{'patra rec/s':>13}{'MB':>6}{'patra/floor':>13}  turns")
    with sandbox(works) as upstream:
        for dialect in servers.dialects:
            by_hand, ours = [], []
            for _ in range(rounds):
                by_hand.append(in_new_database(servers, dialect, floor, upstream))
                ours.append(in_new_database(servers, dialect, harvest, upstream))
            ratios = [mine.rate / theirs.rate for theirs, mine in zip(by_hand, ours, strict=True)]
            each = " ".join(f"{ratio:.2f}" for ratio in ratios)
            print(f"{dialect:<12}{_shown(by_hand, 12)}{_shown(ours, 13)}{median(ratios):>13.2f}  {each}", flush=True)


def compare_memory(servers: Servers, few: int, many: int) -> None:
    """Print the executor's peak memory for so few and so many works."""
    print(f"peak memory of the executor, MB, and records/s: {few} and {many} works")
    print(f"{'database':<12}{'few MB':>8}{'many MB':>8}{'more':>8}{'few rec/s':>11}{'many rec/s':>11}")
    measured: dict[str, Turns] = {dialect: [] for dialect in servers.dialects}
    for works in (few, many):
        with sandbox(works) as upstream:
            for dialect, turns in measured.items():
                turns.append(in_new_database(servers, dialect, harvest, upstream))
    for dialect, (less, more) in measured.items():
        grown = more.peak_mb - less.peak_mb
        print(
            f"{dialect:<12}{less.peak_mb:>8.0f}{more.peak_mb:>8.0f}{grown:>8.0f}{less.rate:>11.0f}{more.rate:>11.0f}",
            flush=True,
        )


def in_new_database(servers: Servers, dialect: str, work: Callable[[str, str], Measured], upstream: str) -> Measured:
    """What the work measures in a database that is there for it alone."""
    with servers.new_database(dialect) as url:
        return work(url, upstream)


def rate_of(turns: Turns) -> float:
    """The usual rate."""
    return median(turn.rate for turn in turns)


def _shown(turns: Turns, width: int) -> str:
    return f"{rate_of(turns):>{width}.0f}{max(turn.peak_mb for turn in turns):>6.0f}"
