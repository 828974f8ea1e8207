"""Prefect's server on SQLite, with two remedies: garbage is collected in a thread, and write transactions queue.

The server works in one thread, and each connection to SQLite in one of its own. What a statement that found the
database locked leaves behind is garbage, and whichever thread collects it waits for the statement's connection. If that
connection waits to write, and whoever writes waits for the server's thread to let it go on, a collection
in that thread ends only when SQLite gives up, after sixty seconds.

Prefect begins a write transaction as a reader. If another one commits before its first write, SQLite refuses that write
at once with "database is locked", however long the timeout is, and an event of a run may be lost to the automations.
Here a transaction holds the database's write lock from its beginning, and those of one process wait in line for it.
"""

import asyncio
import gc
import runpy
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Thread
from typing import Any
from weakref import WeakKeyDictionary

import prefect.server.api.server as prefect_server
from prefect.server.database.configurations import SQLITE_BEGIN_MODE, AioSqliteConfiguration
from starlette.types import ASGIApp

from deployments.visitors import OwnVisitors
from flows.up.form_labels import say_labels
from flows.up.run_names import name_new_runs
from ingest_core.settings import load_settings

IN_MEMORY_HOST = "prefect-in-memory"
"""The host by which Prefect's services, such as the actions of automations, call the API of their own process."""

ROUND_SECONDS = 0.5
_ROUNDS = ((120, 2), (10, 1), (1, 0))
"""How many rounds apart each generation is collected: the oldest once a minute."""

LINE_SECONDS = 30.0
"""The longest wait in line; after that, SQLite's own lock decides who writes."""


def main() -> None:
    """Run `prefect server start` in this process."""
    _answer_own_visitors()
    queue_write_transactions()
    name_new_runs()
    say_labels()
    gc.disable()
    Thread(target=_collect, name="garbage", daemon=True).start()
    sys.argv = ["prefect", "server", "start", *sys.argv[1:]]
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)


def _answer_own_visitors() -> None:
    """Have Prefect's server refuse other sites' pages: whoever reaches its API can run commands on this machine.

    `patra up` checks that it does: a Prefect that builds its application elsewhere would not be guarded.
    """
    build, others = prefect_server.create_app, load_settings().up_allowed_hosts

    def guarded(*arguments: Any, **options: Any) -> ASGIApp:
        remedy = "open it as 127.0.0.1 or localhost, or set PATRA_UP_ALLOWED_HOSTS"
        return OwnVisitors(build(*arguments, **options), others, remedy, in_process=IN_MEMORY_HOST)

    prefect_server.create_app = guarded  # type: ignore[assignment]  # served, it is only called


def queue_write_transactions() -> None:
    """Have Prefect's transactions on SQLite begin as writers, one after the other in each event loop."""
    begin = AioSqliteConfiguration.begin_transaction
    lines: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    @asynccontextmanager
    async def begin_in_line(
        configuration: AioSqliteConfiguration, session: Any, *, with_for_update: bool = False
    ) -> AsyncIterator[Any]:
        if SQLITE_BEGIN_MODE.get() is not None:  # inside a transaction, which waits for this one
            async with begin(configuration, session, with_for_update=with_for_update) as transaction:
                yield transaction
            return
        line = lines.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with _place_in(line), begin(configuration, session, with_for_update=True) as transaction:
            await session.connection()  # BEGIN IMMEDIATE
            if not with_for_update:
                SQLITE_BEGIN_MODE.set("DEFERRED")  # sessions opened meanwhile, which only read, take no lock
            yield transaction

    AioSqliteConfiguration.begin_transaction = begin_in_line  # type: ignore[assignment]


@asynccontextmanager
async def _place_in(line: asyncio.Lock) -> AsyncIterator[None]:
    """The lock, or after a long wait nothing: a transaction that waits for another's must not wait for ever."""
    try:
        async with asyncio.timeout(LINE_SECONDS):
            await line.acquire()
    except TimeoutError:
        yield
        return
    try:
        yield
    finally:
        line.release()


def _collect() -> None:
    number = 0
    while True:
        time.sleep(ROUND_SECONDS)
        number += 1
        gc.collect(next(generation for every, generation in _ROUNDS if number % every == 0))


if __name__ == "__main__":
    main()
