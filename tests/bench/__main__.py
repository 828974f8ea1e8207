"""`make bench`: mapping, compiling, planning, harvesting, the queue and `patra up`, each against a floor or a limit."""

import argparse
import os
from collections.abc import Callable, Sequence

from tests.bench.compiling import measure_compiling
from tests.bench.control_room import compare_cost, compare_executors
from tests.bench.databases import Servers, open_servers
from tests.bench.mapping import compare_mapping
from tests.bench.noise import compare_noise
from tests.bench.peers import compare_peers
from tests.bench.planning import compare_planning
from tests.bench.queueing import measure_queue
from tests.bench.throughput import compare_harvests, compare_memory
from tests.support.servers import DIALECTS

MANY_TIMES = 4
"""So many times more works must take no more memory."""


def parts_of(servers: Servers, given: argparse.Namespace) -> dict[str, Callable[[], None]]:
    """What can be measured, by name, in the order of a whole run."""
    return {
        "mapping": compare_mapping,
        "compiling": measure_compiling,
        "planning": lambda: compare_planning(servers),
        "harvest": lambda: compare_harvests(servers, given.works, given.rounds),
        "memory": lambda: compare_memory(servers, given.works, MANY_TIMES * given.works),
        "queue": lambda: measure_queue(servers, given.tasks, given.ledger_rows),
        "dlt": lambda: compare_peers(servers, given.works, given.rounds),
        "prefect_cost": lambda: compare_cost(servers, given.pages),
        "executors": lambda: compare_executors(servers, given.pages),
        "noise": lambda: compare_noise(given.minutes),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print; only ratios within one run carry over to another machine."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    known = ", ".join(parts_of(Servers({}), argparse.Namespace()))
    parser.add_argument("--only", type=_names, metavar="PART,..", help=f"of {known}")
    parser.add_argument("--databases", type=_names, default=list(DIALECTS), metavar="NAME,..", help="of all three")
    parser.add_argument("--works", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3, help="turns that floor and Patra take; medians are shown")
    parser.add_argument("--tasks", type=int, default=1_000_000, help="in the queue on PostgreSQL")
    parser.add_argument("--ledger-rows", type=int, default=5_000_000, help="in the ledger on PostgreSQL")
    parser.add_argument("--pages", type=int, default=3000, help="of 20 works, read by flow runs: about five minutes")
    parser.add_argument("--minutes", type=float, default=30, help="of `patra up` with every harvest")
    given = parser.parse_args(arguments)
    print(f"{os.cpu_count()} cores")
    with open_servers(given.databases) as servers:
        parts = parts_of(servers, given)
        for name in given.only or parts:
            parts[name]()


def _names(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    main()
