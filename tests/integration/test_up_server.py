"""The room's Prefect server: what it is asked to do, who collects its garbage, and how its transactions begin."""

import asyncio
import contextvars
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from prefect.server.database.configurations import AioSqliteConfiguration

from flows.up import server as up_server
from flows.up.server import queue_write_transactions

ROOM = """
import gc, runpy, sys, threading, time, weakref
from flows.up import server as up_server

class Knot:
    pass

def run_module(name, **_):
    knot, seen = Knot(), []
    knot.itself = knot
    weakref.finalize(knot, lambda: seen.append(threading.current_thread().name))
    del knot
    kept = [[] for _ in range(100_000)]  # by itself, Python would collect at once
    deadline = time.monotonic() + 30
    while not seen and time.monotonic() < deadline:
        time.sleep(0.1)
    print(name, *sys.argv, *seen)

runpy.run_module = run_module
up_server.main()
"""


def test_prefects_server_runs_with_its_garbage_collected_by_a_thread_of_its_own() -> None:
    command = [sys.executable, "-c", ROOM, "--port", "4271"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["prefect", "prefect", "server", "start", "--port", "4271", "garbage"]


async def _count_up(configuration: AioSqliteConfiguration, times: int) -> None:
    """Read a number and write the next one, as Prefect's services do: in a transaction, with time in between."""
    engine = await configuration.engine()
    for _ in range(times):
        session = await configuration.session(engine)
        async with session, configuration.begin_transaction(session):
            number = (await session.execute(sa.text("SELECT number FROM counter"))).scalar_one()
            await asyncio.sleep(0.01)
            await session.execute(sa.text("UPDATE counter SET number = :next"), {"next": number + 1})


async def _counted(folder: Path, writers: int, times: int) -> int:
    configuration = AioSqliteConfiguration(f"sqlite+aiosqlite:///{folder / 'prefect.db'}")
    engine = await configuration.engine()
    async with engine.begin() as connection:
        await connection.execute(sa.text("CREATE TABLE counter (number INTEGER)"))
        await connection.execute(sa.text("INSERT INTO counter VALUES (0)"))
    await asyncio.gather(*(_count_up(configuration, times) for _ in range(writers)))
    async with engine.connect() as connection:
        return int((await connection.execute(sa.text("SELECT number FROM counter"))).scalar_one())


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefect as `patra up` starts it, for one test."""
    monkeypatch.setattr(AioSqliteConfiguration, "begin_transaction", AioSqliteConfiguration.begin_transaction)
    queue_write_transactions()


def test_prefect_alone_finds_its_database_locked_by_itself(tmp_path: Path) -> None:
    with pytest.raises(sa.exc.OperationalError, match="database is locked"):
        asyncio.run(_counted(tmp_path, writers=4, times=10))


@pytest.mark.usefixtures("queued")
def test_transactions_that_read_and_then_write_are_never_refused_nor_lost(tmp_path: Path) -> None:
    assert asyncio.run(_counted(tmp_path, writers=8, times=20)) == 160


async def _nested(folder: Path) -> int:
    """A session that only reads, opened inside a transaction, as Prefect's rules of states do."""
    configuration = AioSqliteConfiguration(f"sqlite+aiosqlite:///{folder / 'prefect.db'}")
    engine = await configuration.engine()
    outer = await configuration.session(engine)
    async with outer, configuration.begin_transaction(outer):
        inner = await configuration.session(engine)
        async with inner, configuration.begin_transaction(inner):
            return int((await inner.execute(sa.text("SELECT 7"))).scalar_one())


@pytest.mark.timeout(30)
@pytest.mark.usefixtures("queued")
def test_a_transaction_inside_another_one_does_not_wait_for_it(tmp_path: Path) -> None:
    assert asyncio.run(_nested(tmp_path)) == 7


@pytest.mark.timeout(30)
@pytest.mark.usefixtures("queued")
def test_a_transaction_that_waits_for_another_task_goes_on_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up_server, "LINE_SECONDS", 0.2)

    async def read(configuration: AioSqliteConfiguration) -> None:
        session = await configuration.session(await configuration.engine())
        async with session, configuration.begin_transaction(session):
            await asyncio.sleep(0)

    async def held() -> list[bool]:
        first, second = (AioSqliteConfiguration(f"sqlite+aiosqlite:///{tmp_path / name}") for name in ("a", "b"))
        session = await first.session(await first.engine())
        async with session, first.begin_transaction(session):
            other = contextvars.Context().run(asyncio.ensure_future, read(second))
            done, _ = await asyncio.wait([other], timeout=10)
            return [other in done]

    assert asyncio.run(held()) == [True]
