"""The floor: the quickest harvest we can write by hand, with no ledger, lease or quarantine.

httpx and orjson in a thread that is a page ahead, the mapping of `by_hand.py`, and the database's bulk way in.
"""

import hashlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import orjson
from sqlalchemy.engine import make_url

from tests.bench.by_hand import Record, map_work
from tests.bench.floor_tables import FloorTable, open_floor
from tests.bench.measured import tell
from tests.bench.upstream import PAGE, WINDOWS, filter_of

AHEAD = 1


def harvest_floor(table: FloorTable, base_url: str) -> int:
    """Every work of the windows, upserted page by page; how many came."""
    count = 0
    for items in ahead(lambda: pages(base_url)):
        table.upsert([row for item in items if (row := row_of(item))])
        count += len(items)
    return count


def pages(base_url: str) -> Iterator[list[Record]]:
    """The pages of every window, parsed."""
    with httpx.Client(trust_env=False, timeout=60) as client:
        for window in WINDOWS:
            cursor = "*"
            while True:
                query = {"filter": filter_of(window), "rows": str(PAGE), "cursor": cursor}
                message = orjson.loads(client.get(f"{base_url}/works", params=query).content)["message"]
                yield message["items"]
                if len(message["items"]) < PAGE:
                    break
                cursor = message["next-cursor"]


def ahead(pages_of: Callable[[], Iterator[list[Record]]]) -> Iterator[list[Record]]:
    """The pages, the next one fetched while the last is written."""
    ready: queue.Queue[list[Record] | None] = queue.Queue(AHEAD)

    def fetch() -> None:
        for page in pages_of():
            ready.put(page)
        ready.put(None)

    threading.Thread(target=fetch, daemon=True).start()
    while (page := ready.get()) is not None:
        yield page


def row_of(item: Record) -> tuple[Any, ...] | None:
    """Id, time, payload, hash and mapped record; nothing for a work without its time."""
    moment = item["indexed"].get("date-time")
    if moment is None:
        return None
    payload = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
    fields = orjson.dumps(map_work(item)).decode()
    return item["DOI"].lower(), moment, payload.decode(), hashlib.sha256(payload).hexdigest(), fields


def main(database_url: str, upstream: str) -> None:
    """Harvest into a new table of that database, and tell how quickly."""
    table = open_floor(make_url(database_url))
    started = time.perf_counter()
    records = harvest_floor(table, upstream)
    tell(records, time.perf_counter() - started)
    table.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
