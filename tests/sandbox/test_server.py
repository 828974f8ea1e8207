"""Starting, stopping and steering a sandbox."""

import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from deployments.sandbox.__main__ import read_arguments
from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import bind, running
from deployments.sandbox.settings import ScrollMode, Settings
from tests.sandbox.client import ask, get
from tests.sandbox.wire import CLIENT

ROOT = Path(__file__).parents[2]


def test_the_command_prints_its_base_url_first() -> None:
    command = [sys.executable, "-m", "deployments.sandbox", "--port", "0", "--works", "20", "--quiet"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
            with Sandbox(url) as sandbox:
                assert len(sandbox.truth()) == 20
        finally:
            process.terminate()
        rest, complaints = process.communicate(timeout=10)
    assert (rest, complaints) == ("", "")


def test_the_options_become_settings() -> None:
    given = "--port 1 --seed 2 --works 3 --until 2026-02-01 --days 4 --scroll token --scroll-ttl 5 --rate-limit 6"
    settings, quiet = read_arguments([*given.split(), "--keep-pages", "7", "--reach", "8"])

    assert (settings.port, settings.seed, settings.works, settings.days) == (1, 2, 3, 4)
    assert settings.until.isoformat() == "2026-02-01T00:00:00+00:00"
    assert (settings.scroll, settings.scroll_ttl_seconds, settings.rate_limit_per_second) == (ScrollMode.TOKEN, 5, 6)
    assert (settings.kept_pages, settings.reach) == (7, 8)
    assert quiet is False


def test_without_options_the_settings_are_the_usual_ones() -> None:
    assert read_arguments([]) == (Settings(), False)


@pytest.mark.parametrize("wrong", [{"works": -1}, {"days": 0}])
def test_settings_without_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}={next(iter(wrong.values()))}"):
        Settings(**wrong)  # type: ignore[arg-type]


def test_a_sandbox_is_healthy_and_stops_when_its_block_ends() -> None:
    with running(Settings(works=1)) as sandbox:
        assert CLIENT.get(f"{sandbox.base_url}/_sandbox/health").json() == {"status": "ok"}
    with pytest.raises(httpx.ConnectError):
        get(sandbox)
    assert "sandbox" not in {thread.name for thread in threading.enumerate() if not thread.daemon}


def test_a_sleeping_fault_does_not_delay_the_stop() -> None:
    with running(Settings(works=1)) as sandbox:
        sandbox.script({"kind": "timeout", "seconds": 60})
        waiting = threading.Thread(target=_ask_in_vain, args=(sandbox,))
        waiting.start()
        while not sandbox.requests():
            time.sleep(0.01)
        began = time.monotonic()
    waiting.join(5)

    assert time.monotonic() - began < 2


def _ask_in_vain(sandbox: Sandbox) -> None:
    with pytest.raises(httpx.TransportError):
        ask(sandbox, {}, timeout_seconds=30)


def test_small_answers_do_not_wait_for_more() -> None:
    with bind(Settings()) as listener:
        # asyncio turns Nagle off only on a socket that says it is TCP.
        assert listener.proto == socket.IPPROTO_TCP


def test_an_unknown_provider_is_a_404(sandbox: Sandbox) -> None:
    assert CLIENT.get(f"{sandbox.base_url}/nowhere/works").status_code == 404
    with pytest.raises(ValueError, match="source 'nowhere' is not simulated; one of crossref"):
        sandbox.truth("nowhere")


@pytest.mark.parametrize("wrong", [{"scroll": "sideways"}, {"scrol": "token"}])
def test_wrong_behaviour_is_refused_and_nothing_changes(sandbox: Sandbox, wrong: dict[str, str]) -> None:
    before = sandbox.configure()
    with pytest.raises(ValueError, match="answered 400"):
        sandbox.configure(**wrong)

    assert sandbox.configure() == before


def test_a_clock_set_to_nonsense_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="answered 400"):
        sandbox.move_clock("tomorrow")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_controls_take_bodies_as_json_only(sandbox: Sandbox, kind: str | None) -> None:
    headers = {"content-type": kind} if kind else {}
    rule = b'[{"kind": "status", "status": 503}]'
    answer = httpx.post(f"{sandbox.base_url}/_sandbox/faults", content=rule, headers=headers, trust_env=False)
    assert (answer.status_code, sandbox.faults()) == (415, [])
    assert "application/json" in answer.json()["error"]


def test_hosts_of_others_are_refused_unless_they_are_named() -> None:
    named = Settings(works=10, allowed_hosts=("patra.example.org",))
    with running(named) as sandbox:
        for host, status in (
            ("patra.example.org", 200),
            ("evil.example", 400),
            (f"localhost:{sandbox.base_url[17:]}", 200),
        ):
            asked = httpx.get(f"{sandbox.base_url}/_sandbox/health", headers={"host": host}, trust_env=False)
            assert asked.status_code == status, host
        assert sandbox.requests() == []
