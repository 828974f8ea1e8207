"""The folder of a control room and its processes, without a server."""

import os
import signal
import socket
import sys
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from flows.cli.room import own_name
from flows.up import control_room as up
from flows.up.home import held, refuse_taken_port, room_home, sandbox_settings, write_environment
from flows.up.processes import Child, descendants, wait_until
from ingest_core.model.errors import BadInput, Refused
from ingest_core.settings import Settings

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
time.sleep(60)
"""


def test_a_sandbox_has_a_folder_and_a_database_of_its_own() -> None:
    hook = "https://hooks.example.org/t0ken"
    settings = Settings(home=Path("home"), database_url="postgresql://real/patra", publisher=hook)
    sandbox, real = room_home(settings, sandbox=True), room_home(settings, sandbox=False)
    here = Path("home").absolute()
    assert sandbox.settings.publisher is None
    assert sandbox.variables == {
        "PATRA_CONTACT": "sandbox@example.org",
        "PATRA_HOME": f"{here}/sandbox",
        "PATRA_DATABASE_URL": f"sqlite:///{here}/sandbox/patra.db",
        "PATRA_PUBLISHER": "",  # or its flows would have that of the shell it is started from
    }
    assert real.variables == {
        "PATRA_HOME": str(here),
        "PATRA_DATABASE_URL": "postgresql://real/patra",
        "PATRA_PUBLISHER": hook,
    }


def test_files_are_named_so_that_flows_find_them_from_any_folder() -> None:
    settings = Settings(database_url="sqlite:///here.db", publisher="file:told.jsonl")
    variables = room_home(settings, sandbox=False).variables
    assert variables["PATRA_DATABASE_URL"] == f"sqlite:///{Path('here.db').absolute()}"
    assert variables["PATRA_PUBLISHER"] == f"file:{Path('told.jsonl').absolute()}"


def test_a_port_in_use_is_all_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATRA_HOME", str(tmp_path))
    said: list[object] = []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BadInput) as refused:
            up.run_up(up.UpOptions(taken.getsockname()[1], sandbox=True), said.append, said.append)
    assert refused.value.code == "PORT_IN_USE"
    assert said == []


def test_a_room_is_opened_once_at_a_time(tmp_path: Path) -> None:
    home = room_home(Settings(home=tmp_path), sandbox=True)
    with held(home), pytest.raises(Refused) as refused, held(home):
        pass
    assert str(os.getpid()) in refused.value.message
    with held(home):
        pass


def test_a_port_somebody_listens_on_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = int(taken.getsockname()[1])
        with pytest.raises(BadInput, match=str(port)):
            refuse_taken_port(port)
    refuse_taken_port(port)


def test_a_corpus_stays_until_it_is_read_out_and_then_goes_on(tmp_path: Path) -> None:
    home = room_home(Settings(home=tmp_path), sandbox=False)
    first = sandbox_settings(home, NOW)
    assert first.until - timedelta(days=first.days) < NOW - timedelta(days=13)
    assert sandbox_settings(home, NOW + timedelta(days=20)) == first
    later = sandbox_settings(home, NOW + timedelta(days=40))
    assert later.until > NOW + timedelta(days=60)


def test_another_shell_gets_the_same_settings_and_nobody_else_reads_them(tmp_path: Path) -> None:
    home = room_home(Settings(home=tmp_path), sandbox=False)
    file = write_environment(home, {"PATRA_DATABASE_URL": "postgresql://me:it's@host/patra"})
    assert file.read_text() == """export PATRA_DATABASE_URL='postgresql://me:it'"'"'s@host/patra'\n"""
    assert file.stat().st_mode & 0o077 == 0


def test_a_child_that_does_not_listen_is_killed_with_all_below_it(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    child = Child("stubborn", ["stubborn"], environment, tmp_path / "log")
    assert wait_until(lambda: "ready" in child.log.read_text(), 60)
    below = descendants(child._process.pid)
    assert len(below) == 1
    assert not child.end(0.5, Event())
    assert not child.end_below(0.5, Event())
    child.kill()
    assert not child.alive
    assert wait_until(lambda: not _runs(below[0]), 10)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_hurry_ends_the_patience(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    child = Child("stubborn", ["stubborn"], environment, tmp_path / "log", orphaned=signal.SIGKILL)
    try:
        assert wait_until(lambda: "ready" in child.log.read_text(), 60)
        hurry = Event()
        hurry.set()
        assert not child.end(600, hurry)
    finally:
        child.kill()


def test_a_person_is_told_how_another_shell_finds_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "venv" / "bin" / "patra"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    monkeypatch.setenv("PATH", "")
    assert own_name() == str(program)
    monkeypatch.chdir(tmp_path)
    assert own_name() == "venv/bin/patra"
    monkeypatch.setenv("PATH", str(program.parent))
    assert own_name() == "patra"


class _Friendly(BaseHTTPRequestHandler):
    """Answers everybody."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Alive:
    """A process that runs."""

    alive, name = True, "server"

    def __init__(self, *arguments: object) -> None:
        self.log = arguments[-1]


def test_a_server_that_answers_other_sites_pages_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "Child", _Alive)
    home = room_home(Settings(home=tmp_path), sandbox=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Friendly)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(up.UpFailed, match="pages of other sites"):
            up._start_server(home, server.server_port, {})
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
