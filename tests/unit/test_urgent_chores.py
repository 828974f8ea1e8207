"""The chores that executors do in between: they are repeated, one that fails stops no other, and they end in time."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from flows.execution import urgent_chores
from flows.execution.urgent_chores import URGENT, UrgentChores
from flows.parameters import HousekeepingPart

WAIT_SECONDS = 10


class Scene:
    """An application that counts what is done with it."""

    def __init__(self) -> None:
        self.rounds = 0
        self.done = Event()
        self.app = SimpleNamespace(relay=SimpleNamespace(stop=Event()))

    @contextmanager
    def open_app(self) -> Iterator[Any]:
        """A round begins."""
        self.rounds += 1
        yield self.app

    def refuse(self, _app: Any) -> str:
        """A chore that fails."""
        raise ValueError("a slice cannot be cut")

    def relay(self, _app: Any) -> str:
        """A chore that is done, and that nothing ends but its own stop from the second round on."""
        if self.rounds > 1:
            self.done.set()
            self.app.relay.stop.wait(WAIT_SECONDS)
        return "3 messages sent, 0 wait"


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Rounds without a pause."""
    scene = Scene()
    chores = {HousekeepingPart.SERVE_RESLICES: scene.refuse, HousekeepingPart.RELAY_OUTBOX: scene.relay}
    monkeypatch.setattr(urgent_chores, "EVERY_SECONDS", 0.01)
    monkeypatch.setattr(urgent_chores, "CHORES", chores)
    monkeypatch.setattr(urgent_chores, "open_app", scene.open_app)
    monkeypatch.setattr(urgent_chores, "get_run_logger", lambda: logging.getLogger("run"))
    assert set(chores) == set(URGENT)
    return scene


@pytest.mark.timeout(WAIT_SECONDS)
def test_rounds_go_on_though_a_chore_fails_and_end_with_the_run(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with UrgentChores() as chores:
        assert scene.done.wait(WAIT_SECONDS)
    assert scene.rounds == 2
    assert not chores.keeper.is_alive()
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert said.count(("WARNING", "serve re-slice requests: a slice cannot be cut")) == 2
    assert ("INFO", "relay outbox: 3 messages sent, 0 wait") in said


def test_a_run_that_ends_sooner_does_none(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urgent_chores, "EVERY_SECONDS", 60)
    with UrgentChores():
        pass
    assert scene.rounds == 0
