"""A private Redis, as the Prefect servers of several machines share one."""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from tests.support.prefect import free_port, until

START_SECONDS = 30
STOP_SECONDS = 10


@contextmanager
def private_redis(folder: Path) -> Iterator[str]:
    """The URL of an empty Redis, without a database number; without the program the test is skipped."""
    program = shutil.which("redis-server")
    if program is None:
        _missing("no redis-server is installed")
    port, password = free_port(), secrets.token_hex(8)
    where = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
    kept = ["--save", "", "--appendonly", "no", "--requirepass", password]
    with (folder / "redis.log").open("w") as log:
        process = subprocess.Popen([str(program), *where, *kept], stdout=log, stderr=subprocess.STDOUT)
    url = f"redis://:{password}@127.0.0.1:{port}"
    try:
        until(lambda: _answers(url), START_SECONDS, f"redis-server ({folder / 'redis.log'})", every=0.1)
        yield url
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def _missing(reason: str) -> None:
    """A test without what it needs is skipped; under PATRA_CI=1 it fails."""
    if os.environ.get("PATRA_CI") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _answers(url: str) -> bool:
    client = redis.Redis.from_url(url)
    try:
        return bool(client.ping())
    except redis.exceptions.ConnectionError:
        return False
    finally:
        client.close()
