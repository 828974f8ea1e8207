"""A person at the control room: a real server, worker and browser, and a provider that can fail on request."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from deployments.sandbox.remote import Sandbox
from tests.conftest import DatabaseFactory
from tests.support.browser import SCREENSHOTS, Screen, open_screen, running_chromium
from tests.support.patra import Patra
from tests.support.prefect import ControlRoom


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all."""
    with running_chromium() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def patra(
    sandbox: Sandbox, database_factory: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Patra]:
    """`patra` on one database for all, with the quick Crossref registered."""
    with pytest.MonkeyPatch.context() as environment:
        folder = tmp_path_factory.mktemp("patra")
        patra = Patra(database_factory.fresh("sqlite"), sandbox.url("crossref"), folder, environment)
        patra("db", "upgrade")
        patra.apply_crossref()
        yield patra


@pytest.fixture(scope="module")
def room(browser: Browser, patra: Patra, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlRoom]:
    """A server with the deployments and a worker; the browser is looked for before anything is started."""
    with ControlRoom(tmp_path_factory.mktemp("room"), patra.environment) as room:
        room.command("work-pool", "create", "patra", "--type", "process")
        room.command("deploy", "--all", "--no-prompt")
        room.worker()
        yield room


@pytest.fixture
def screen(browser: Browser, room: ControlRoom, request: pytest.FixtureRequest) -> Iterator[Screen]:
    """A window of the browser, in front of the server."""
    folder: Path = SCREENSHOTS / "control-room" / request.node.name
    with open_screen(browser, room.ui, folder) as screen:
        yield screen


def test_deployments_are_listed_with_what_they_do(screen: Screen) -> None:
    screen.go("Deployments")
    for name in ("planner", "executor"):
        screen.sees(name)
    screen.shot("deployments")
    screen.open_deployment("planner")
    screen.tab("Description")
    screen.sees("Turns a trigger into a plan with its tasks.")
