"""The newcomer's page, walked as it is written: its commands in a shell, its clicks in a browser, its pictures made."""

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Browser
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import FlowRun, StateType

from tests.support.browser import SCREENSHOTS, Screen, open_screen, running_chromium
from tests.support.patra import StoredRows
from tests.support.prefect import ROOT, bare_environment, until
from tests.support.up import Up

pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.timeout(1200)]

PAGE = ROOT / "docs" / "tutorials" / "first-hour.md"
PICTURES = SCREENSHOTS / "first-hour"
RUN_SECONDS = 300
EXECUTED_SECONDS = 60
DRAWN_MS = 2000

_COMMANDS = re.compile(r"^```sh\n(.+?)^```$", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[[^\]]+\]\(\.\./pictures/([\w-]+)\.png\)")


class Walk:
    """A newcomer with a browser and a second terminal, in front of `make up`."""

    def __init__(self, up: Up, screen: Screen, client: SyncPrefectClient) -> None:
        self.up = up
        self.client = client
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
        """Take the page's picture of this name, once it is drawn."""
        self.screen.page.wait_for_timeout(DRAWN_MS)
        self.screen.page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")

    def quick_run(self, deployment: str) -> UUID:
        """Run a deployment as it stands."""
        return UUID(self.screen.quick_run(deployment))

    def executors(self) -> list[UUID]:
        """The executor runs that are at work, or about to be."""
        begun = FlowRunFilterStateType(any_=[StateType.PENDING, StateType.RUNNING])
        executor, live = FlowFilter(name=FlowFilterName(any_=["executor"])), FlowRunFilterState(type=begun)
        return [
            run.id
            for run in self.client.read_flow_runs(flow_filter=executor, flow_run_filter=FlowRunFilter(state=live))
        ]

    def executor_of(self, plan: str) -> UUID:
        """The executor run that is tagged with the plan: there may be two that take turns."""
        tagged = FlowRunFilter(tags=FlowRunFilterTags(all_=[plan]))
        executor = FlowFilter(name=FlowFilterName(any_=["executor"]))
        found: list[FlowRun] = []

        def told() -> bool:
            found[:] = self.client.read_flow_runs(flow_filter=executor, flow_run_filter=tagged)
            return bool(found)

        until(told, RUN_SECONDS, f"an executor of {plan}")
        return found[0].id

    def ended(self, run_id: UUID, runs: int = 1) -> FlowRun:
        """A flow run that has ended for the so manyth time."""

        def over() -> bool:
            run = self.client.read_flow_run(run_id)
            return run.run_count >= runs and run.state is not None and run.state.is_final()

        until(over, RUN_SECONDS, f"flow run {run_id}")
        return self.client.read_flow_run(run_id)

    def backfill(self, start: int, end: int, campaign: str) -> FlowRun:
        """Fill in the form, and wait for the plan."""
        screen, today = self.screen, datetime.now(UTC)
        screen.open_form("backfill")
        screen.choose("Source", "crossref")
        screen.pick_day("From", f"{today - timedelta(days=start):%Y-%m-%d}")
        screen.pick_day("To", f"{today - timedelta(days=end):%Y-%m-%d}")
        screen.write("Campaign", campaign)
        if campaign == "first":
            screen.turn_to("A registered source, such as crossref.")
            self.picture("backfill-form")
        planned = self.ended(UUID(screen.start()))
        assert planned.state_type == "COMPLETED", _message(planned)
        return planned

    def tasks(self, operation: str, status: str | None = None) -> int:
        """How many tasks of an operation there are, in this status."""
        where = f"operation_code = '{operation}'" + (f" AND status_code = '{status}'" if status else "")
        return len(self.stored.rows("ing_task", "id", where=where))

    def waits_of(self, source: str) -> list[float]:
        """How many seconds after it was planned each task of a source began."""
        where = f"provenance_code = '{source}' AND started_at IS NOT NULL"
        rows = self.stored.rows("ing_task", "created_at", "started_at", where=where)
        return [(row["started_at"] - row["created_at"]).total_seconds() for row in rows]

    def worked(self, operation: str) -> None:
        """Wait until the executors have stored what was planned."""
        until(
            lambda: self.tasks(operation) == self.tasks(operation, "SUCCEEDED") > 0,
            RUN_SECONDS,
            f"the {operation} of {self.up.folder}",
        )


def _message(run: FlowRun) -> str:
    return str(run.state and run.state.message)


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
        with up.client() as client, open_screen(browser, up.room["ui"], PICTURES) as screen:
            yield Walk(up, screen, client)
    finally:
        up.kill()


def test_the_page_is_true_and_its_pictures_are_of_what_it_says(walk: Walk) -> None:
    _harvest(walk)
    _fill_in_an_older_period(walk)
    _let_it_fail_and_retry(walk)
    _switch_the_executor_on_again(walk)
    _pause_and_resume(walk)
    assert walk.not_typed() == []
    made = {file.stem for file in PICTURES.glob("*.png") if not file.stem.startswith("01-")}
    assert made == set(_PICTURE.findall(PAGE.read_text(encoding="utf-8")))


def _harvest(walk: Walk) -> None:
    screen = walk.screen
    screen.go("Deployments")
    screen.sees("harvest-crossref")
    assert screen.main.get_by_text("Not Ready").count() == 0
    walk.picture("deployments")
    planned = walk.ended(walk.quick_run("harvest-crossref"))
    assert planned.state_type == "COMPLETED", _message(planned)
    screen.open_run(planned.name)
    screen.open_page("crossref harvest")
    screen.sees("Outcome")
    walk.picture("plan-page")
    walk.worked("HARVEST")
    screen.show_run(str(walk.executor_of("plan:1")))
    screen.tab("Task Runs")
    screen.sees(re.compile("crossref slice 1/1"))
    walk.picture("executor-at-work")
    printed = walk.type(". .patra/sandbox/environment")
    assert "SUCCEEDED" in printed
    assert "crossref" in printed


def _fill_in_an_older_period(walk: Walk) -> None:
    planned = walk.backfill(10, 8, "first")
    assert "campaign:first" in planned.tags
    walk.worked("BACKFILL")


def _let_it_fail_and_retry(walk: Walk) -> None:
    screen = walk.screen
    screen.open_deployment("executor")
    screen.switch("Every 5 minutes", on=False)
    for run_id in walk.executors():
        screen.show_run(str(run_id))
        screen.cancel()
        walk.ended(run_id, runs=0)  # one that is cancelled before it began has run no time
    walk.backfill(7, 5, "second")
    walk.type("curl")
    failed = walk.ended(walk.quick_run("executor"))
    assert failed.state_type == "FAILED", _message(failed)
    screen.show_run(str(failed.id))
    screen.tab("Details")
    screen.turn_to(re.compile("the provider answered 400"))
    walk.picture("failed-run")
    screen.open_page("FAILED")
    screen.sees("Errors")
    screen.show_run(str(failed.id))
    screen.ask_for_retry()
    walk.picture("retry")
    screen.confirm_retry()
    retried = walk.ended(failed.id, runs=2)
    assert retried.state_type == "COMPLETED", _message(retried)
    screen.show_run(str(failed.id))
    screen.tab("Details")
    screen.turn_to(re.compile("1 task succeeded"))
    walk.picture("retried-run")
    assert walk.tasks("BACKFILL") == walk.tasks("BACKFILL", "SUCCEEDED")


def _switch_the_executor_on_again(walk: Walk) -> None:
    """No executor runs, and the schedule's next run is minutes away."""
    walk.screen.open_deployment("executor")
    walk.screen.switch("Every 5 minutes", on=True)
    planned = walk.ended(walk.quick_run("harvest-doaj"))
    assert planned.state_type == "COMPLETED", _message(planned)
    until(lambda: bool(walk.waits_of("doaj")), RUN_SECONDS, "the harvest of doaj")
    assert min(walk.waits_of("doaj")) <= EXECUTED_SECONDS


def _pause_and_resume(walk: Walk) -> None:
    walk.type(".venv/bin/patra pause")
    refused = walk.ended(walk.quick_run("harvest-crossref"), runs=0)
    assert refused.state_type == "FAILED"
    assert "they asked us to" in _message(refused)
    walk.type(".venv/bin/patra resume")
    planned = walk.ended(walk.quick_run("harvest-crossref"))
    assert planned.state_type == "COMPLETED", _message(planned)
