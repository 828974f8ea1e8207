"""The provider every harvest of the bench reads from: Crossref's sandbox, its pages kept ready to send."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import httpx
import orjson

UNTIL = datetime(2026, 1, 12, tzinfo=UTC)  # an end of Patra's slices of five days
DAYS = 10
STEP_DAYS = 5
PAGE = 1000
WINDOWS = [
    (UNTIL - timedelta(days=days), UNTIL - timedelta(days=days - STEP_DAYS)) for days in range(DAYS, 0, -STEP_DAYS)
]
"""What is harvested, as Patra slices it."""


@contextmanager
def sandbox(works: int) -> Iterator[str]:
    """A sandbox in a process of its own, so that it shares no interpreter with what is measured; all pages written."""
    pages = str(works // PAGE + 2 * len(WINDOWS))
    command = [sys.executable, "-m", "deployments.sandbox", "--quiet", "--keep-pages", pages]
    command += ["--works", str(works), "--until", f"{UNTIL:%Y-%m-%d}", "--days", str(DAYS)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        upstream = process.stdout.readline().strip() + "/crossref"
        for bounds in map(filter_of, WINDOWS):
            _read_all(upstream, bounds)
        yield upstream
    finally:
        process.terminate()
        process.wait()


def filter_of(window: tuple[datetime, datetime]) -> str:
    """The window as Crossref is asked for it, as Patra asks."""
    start, end = window
    return f"from-index-date:{start:%Y-%m-%dT%H},until-index-date:{end:%Y-%m-%dT%H}"


def _read_all(upstream: str, bounds: str) -> None:
    cursor = "*"
    with httpx.Client(trust_env=False, timeout=60) as client:
        while True:
            answer = client.get(f"{upstream}/works", params={"filter": bounds, "rows": PAGE, "cursor": cursor})
            message = orjson.loads(answer.content)["message"]
            if not message["items"]:
                return
            cursor = message["next-cursor"]
