"""The newcomer's page, walked as it is written: its commands in a shell, its clicks in a browser, its pictures made."""

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import SCREENSHOTS, Screen, open_screen, running_chromium
from tests.support.patra import StoredRows
from tests.support.prefect import FINAL_STATES, ROOT, bare_environment, until
from tests.support.up import Up

pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.timeout(1200)]

PAGE = ROOT / "docs" / "first-hour.md"
PICTURES = SCREENSHOTS / "first-hour"
RUN_SECONDS = 300

_COMMANDS = re.compile(r"^```sh\n(.+?)^```$", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[[^\]]+\]\(pictures/([\w-]+)\.png\)")

Row = dict[str, Any]


class Walk:
    """A newcomer with a browser and a second terminal, in front of `make up`."""

    def __init__(self, up: Up, screen: Screen) -> None:
        self.up = up
        self.screen = screen
        self.stored = StoredRows(up.room["database"])
        self._blocks = dict.fromkeys(_COMMANDS.findall(PAGE.read_text(encoding="utf-8")), False)

    def type(self, beginning: str) -> str:
        """Give the page's block of commands that begins so to the second terminal; what they print."""
        (block,) = [block for block in self._blocks if block.startswith(beginning)]
        self._blocks[block] = True
        here = block.replace(".venv/bin/patra", f"{sys.executable} -m flows.cli")
        here = here.replace("127.0.0.1:4201", self.up.room["sandbox"].removeprefix("http://"))
        joined = f". {self.up.room['environment']}\n{here}"
        done = subprocess.run(
            ["sh", "-ec", joined],
            cwd=self.up.folder,
            env=bare_environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def not_typed(self) -> list[str]:
        """The page's blocks that were passed over, but for the first, which started all of this."""
        return [block for block, typed in self._blocks.items() if not typed and block != "make up\n"]

    def picture(self, name: str) -> None:
        """Take the page's picture of this name."""
        self.screen.page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")

    def run(self, run_id: str) -> Row:
        """A flow run as the server knows it."""
        run: Row = httpx.get(f"{self.up.room['api']}/flow_runs/{run_id}", trust_env=False).raise_for_status().json()
        return run

    def ended(self, run_id: str, runs: int = 1) -> Row:
        """A flow run that has ended for the so manyth time."""

        def over() -> bool:
            run = self.run(run_id)
            return run["run_count"] >= runs and run["state_type"] in FINAL_STATES

        until(over, RUN_SECONDS, f"flow run {run_id}")
        return self.run(run_id)

    def backfill(self, start: int, end: int, campaign: str) -> Row:
        """Fill in the form, and wait for the plan."""
        screen, today = self.screen, datetime.now(UTC)
        screen.open_form("backfill")
        screen.choose("Source", "crossref")
        screen.pick_day("From", f"{today - timedelta(days=start):%Y-%m-%d}")
        screen.pick_day("To", f"{today - timedelta(days=end):%Y-%m-%d}")
        screen.write("Campaign", campaign)
        if campaign == "first":
            self.picture("backfill-form")
        planned = self.ended(screen.start())
        assert planned["state_type"] == "COMPLETED", planned["state"]["message"]
        return planned

    def tasks(self, operation: str, status: str | None = None) -> int:
        """How many tasks of an operation there are, in this status."""
        where = f"operation_code = '{operation}'" + (f" AND status_code = '{status}'" if status else "")
        return len(self.stored.rows("ing_task", "id", where=where))

    def worked(self, operation: str) -> None:
        """Wait until the executors have stored what was planned."""
        until(
            lambda: self.tasks(operation) == self.tasks(operation, "SUCCEEDED") > 0,
            RUN_SECONDS,
            f"the {operation} of {self.up.folder}",
        )


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A Chromium."""
    with running_chromium() as chromium:
        yield chromium


@pytest.fixture
def walk(browser: Browser, tmp_path: Path) -> Iterator[Walk]:
    """`make up` has said that Patra is up."""
    up = Up(tmp_path, home=".patra")
    try:
        up.start()
        with open_screen(browser, up.room["ui"], PICTURES) as screen:
            yield Walk(up, screen)
    finally:
        up.kill()


def test_the_page_is_true_and_its_pictures_are_of_what_it_says(walk: Walk) -> None:
    _harvest(walk)
    _fill_in_an_older_period(walk)
    _let_it_fail_and_retry(walk)
    _pause_and_resume(walk)
    assert walk.not_typed() == []
    made = {file.stem for file in PICTURES.glob("*.png") if not file.stem.startswith("01-")}
    assert made == set(_PICTURE.findall(PAGE.read_text(encoding="utf-8")))


def _harvest(walk: Walk) -> None:
    screen = walk.screen
    screen.go("Deployments")
    screen.sees("harvest-crossref")
    walk.picture("deployments")
    planned = walk.ended(screen.quick_run("harvest-crossref"))
    assert planned["state_type"] == "COMPLETED", planned["state"]["message"]
    screen.open_run(planned["name"])
    screen.open_page("crossref harvest")
    screen.sees("What to do next")
    walk.picture("plan-page")
    screen.open_run("execute all sources")
    walk.worked("HARVEST")
    screen.sees("Running")
    walk.picture("executor-at-work")
    printed = walk.type(". .patra/sandbox/environment")
    assert "SUCCEEDED" in printed
    assert "crossref" in printed


def _fill_in_an_older_period(walk: Walk) -> None:
    planned = walk.backfill(10, 8, "first")
    assert "campaign:first" in planned["tags"]
    walk.worked("BACKFILL")


def _let_it_fail_and_retry(walk: Walk) -> None:
    screen = walk.screen
    screen.open_deployment("executor")
    switch = screen.aside.get_by_role("switch", name=re.compile("5 minutes|past the hour"))
    switch.click()
    expect(switch).not_to_be_checked()
    screen.open_run("execute all sources")
    cancelled = screen.cancel()
    walk.ended(cancelled)
    walk.backfill(7, 5, "second")
    walk.type("curl")
    failed = walk.ended(screen.quick_run("executor"))
    assert failed["state_type"] == "FAILED", failed["state"]["message"]
    screen.show_run(failed["id"])
    screen.tab("Details")
    screen.sees(re.compile("the provider answered 400"))
    walk.picture("failed-run")
    screen.open_page("FAILED")
    screen.sees("What went wrong")
    screen.show_run(failed["id"])
    screen.ask_for_retry()
    walk.picture("retry")
    screen.confirm_retry()
    retried = walk.ended(failed["id"], runs=2)
    assert retried["state_type"] == "COMPLETED", retried["state"]["message"]
    screen.sees("Completed")
    walk.picture("retried-run")
    assert walk.tasks("BACKFILL") == walk.tasks("BACKFILL", "SUCCEEDED")


def _pause_and_resume(walk: Walk) -> None:
    walk.type(".venv/bin/patra pause")
    refused = walk.ended(walk.screen.quick_run("harvest-crossref"), runs=0)
    assert refused["state_type"] == "FAILED"
    assert "they asked us to" in refused["state"]["message"]
    walk.type(".venv/bin/patra resume")
    planned = walk.ended(walk.screen.quick_run("harvest-crossref"))
    assert planned["state_type"] == "COMPLETED", planned["state"]["message"]
