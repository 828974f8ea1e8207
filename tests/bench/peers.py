"""Patra against dlt on PostgreSQL; dlt lives in an environment of its own."""

import os
import subprocess
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy.engine import make_url

from tests.bench.databases import Servers
from tests.bench.measured import Measured, read
from tests.bench.throughput import harvest, in_new_database, rate_of
from tests.bench.upstream import DAYS, UNTIL, filter_of, sandbox

REQUIREMENT = "dlt[postgres]"
FOLDER = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "patra-bench" / "dlt"
SCRIPT = Path(__file__).with_name("dlt_harvest.py")
AS_IT_COMES, TUNED = "as it comes", "tuned"
WANTED = {TUNED: 3, AS_IT_COMES: 8}
FEWER = 5
"""dlt as it comes gets this part of the works: its rate stays the same, and it takes minutes."""


def compare_peers(servers: Servers, works: int, rounds: int) -> None:
    """Print records/s of dlt both ways and of Patra, in turns, and how many times quicker Patra is."""
    python = _environment()
    if python is None or "postgresql" not in servers.dialects:
        return
    print(
        f"dlt's REST source into PostgreSQL, {works} works, as it comes a {FEWER}th of them; medians of {rounds} turns"
    )
    print(f"{'dlt':<14}{'rec/s':>8}{'MB':>6}{'patra rec/s':>13}{'patra/dlt':>11}{'wanted':>8}")
    for how, count in ((TUNED, works), (AS_IT_COMES, works // FEWER)):
        with sandbox(count) as upstream:
            theirs, ours = [], []
            for _ in range(rounds):
                theirs.append(in_new_database(servers, "postgresql", partial(_dlt, python, how), upstream))
                ours.append(in_new_database(servers, "postgresql", harvest, upstream))
        quick, slow, peak = rate_of(ours), rate_of(theirs), max(one.peak_mb for one in theirs)
        print(f"{how:<14}{slow:>8.0f}{peak:>6.0f}{quick:>13.0f}{quick / slow:>11.1f}{WANTED[how]:>8}", flush=True)


def _dlt(python: Path, how: str, url: str, upstream: str) -> Measured:
    bounds = filter_of((UNTIL - timedelta(days=DAYS), UNTIL))
    given = make_url(url)
    # dlt wants a password even where the server asks for none.
    address = given.set(drivername="postgresql", password=given.password or "none")
    with TemporaryDirectory() as folder:
        # -P: the script's folder is not to be searched, its neighbours are not dlt's.
        return read(
            [
                str(python),
                "-P",
                str(SCRIPT),
                address.render_as_string(hide_password=False),
                upstream,
                bounds,
                how,
                folder,
            ]
        )


def _environment() -> Path | None:
    """The interpreter of an environment with dlt, made on first use; none where dlt cannot be had."""
    python = FOLDER / "bin" / "python"
    if _runs([str(python), "-c", "import dlt"]):
        return python
    print(f"installing {REQUIREMENT} into an environment of its own")
    made = _runs([sys.executable, "-m", "venv", "--clear", str(FOLDER)])
    if made and _runs([str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", REQUIREMENT]):
        return python
    print(f"dlt: left out, {REQUIREMENT} could not be installed")
    return None


def _runs(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
