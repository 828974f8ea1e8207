"""Prefect past one machine: API servers and services apart, over PostgreSQL and Redis, set as in the compose file."""

import sys
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml
from sqlalchemy.engine import make_url

from tests.support.prefect import ROOT, START_SECONDS, ControlRoom, Process, free_port, until

USER, PASSWORD = "operator", "of-the-test"
SERVERS = 2


def shipped_settings() -> dict[str, str]:
    """What the compose file tells a server."""
    compose = yaml.safe_load((ROOT / "deployments" / "docker" / "compose.yaml").read_text(encoding="utf-8"))
    settings: dict[str, str] = compose["services"]["server"]["environment"]
    return settings


class ScaledOut(ControlRoom):
    """Two API servers and the services, each a process; all that they share is in PostgreSQL and Redis."""

    def __init__(self, folder: Path, database_url: str, redis_url: str) -> None:
        here = {
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": _for_prefect(database_url),
            "PREFECT_REDIS_MESSAGING_URL": f"{redis_url}/0",
            "PREFECT_SERVER_DOCKET_URL": f"{redis_url}/1",
            "PREFECT_SERVER_API_AUTH_STRING": f"{USER}:{PASSWORD}",
            "PREFECT_API_AUTH_STRING": f"{USER}:{PASSWORD}",
        }
        super().__init__(folder, {**shipped_settings(), **here})
        self.environment |= {
            "PREFECT_SERVER_UI_API_URL": self.api_url,
            "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": self.ui,
        }
        self._ports = [self.port, *(free_port() for _ in range(SERVERS - 1))]
        self._processes: list[Process] = []
        self._client.auth = (USER, PASSWORD)

    def api_of(self, number: int) -> str:
        """The API's address at one of the servers."""
        return f"http://127.0.0.1:{self._ports[number]}/api"

    def start(self) -> None:
        """Bring the schema up, start everything and wait until the servers answer."""
        self.command("server", "database", "upgrade", "--yes")
        for number, port in enumerate(self._ports):  # one by one: on an empty database the first makes block types
            address = ["--host", "127.0.0.1", "--port", str(port), "--no-services"]
            self._run(f"server-{number}", "server", "start", *address)
            until(partial(self.answers, self.api_of(number)), START_SECONDS, f"the API server {number}")
        self._run("services", "server", "services", "start")
        self._introduce()

    def _run(self, name: str, *words: str) -> None:
        command = [str(Path(sys.executable).with_name("prefect")), *words]
        self._processes.append(Process(command, self.environment, self.folder / f"{name}.log"))

    def _introduce(self) -> None:
        """Say who asks, as every client of a server with CSRF protection must before it changes anything."""
        client = str(uuid4())
        token = self.ask("GET", f"/csrf-token?client={client}")["token"]
        self._client.headers.update({"Prefect-Csrf-Client": client, "Prefect-Csrf-Token": token})

    def restart(self) -> None:
        """End every server and the services at once, and start them again: what they kept in memory is gone."""
        for process in self._processes:
            process.kill()
        self._processes.clear()
        self.start()

    def __exit__(self, *reason: Any) -> None:
        super().__exit__(*reason)
        for process in self._processes:
            process.stop()

    def pause_schedules(self) -> None:
        """Let nothing start but what a test starts."""
        for deployment in self.ask("POST", "/deployments/filter", {}):
            self.ask("POST", f"/deployments/{deployment['id']}/pause_deployment")


def _for_prefect(url: str) -> str:
    return make_url(url).set(drivername="postgresql+asyncpg").render_as_string(hide_password=False)
