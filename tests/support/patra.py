"""`patra` as a test uses it: in this process, or as a process of its own."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from deployments.sandbox.remote import Sandbox
from flows.cli.main import run
from ingest_core.model.instant import parse_instant
from ingest_core.shipped import shipped_sources
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import metadata
from tests.support.yaml_text import read_yaml, yaml_of

Row = dict[str, Any]

QUICK: dict[str, Row] = {
    "rate_limit": {"requests_per_second": 2000, "burst": 100},
    "retry": {"initial": "PT0.05S", "max": "PT0.2S"},
}
"""A provider on loopback need not be spared."""


class StoredRows:
    """Looks into a database."""

    def __init__(self, database_url: str) -> None:
        self._database_url = database_url

    def rows(self, table: str, *columns: str, where: str = "1=1") -> list[Row]:
        """Rows of a table, in order of id."""
        database = Database(self._database_url)
        try:
            with database.read() as connection:
                known = metadata.tables[table]
                wanted: list[Any] = [known.c[name] for name in columns] or [known]
                query = sa.select(*wanted).where(sa.text(where)).order_by(known.c.id)
                return [dict(row) for row in connection.execute(query).mappings()]
        finally:
            database.close()


class Patra:
    """Runs commands against one database and one upstream."""

    def __init__(self, database_url: str, upstream: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stored = StoredRows(database_url)
        self._folder = folder
        self._started: list[subprocess.Popen[str]] = []
        self.environment = {
            "PATRA_DATABASE_URL": database_url,
            "PATRA_UPSTREAM_CROSSREF": upstream,
            "PATRA_HOME": str(folder / "home"),
            "PATRA_LEASE_TTL_SECONDS": "2",
        }
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)

    def use(self, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Go on with another database."""
        self.stored = StoredRows(database_url)
        self.environment["PATRA_DATABASE_URL"] = database_url
        monkeypatch.setenv("PATRA_DATABASE_URL", database_url)

    def __call__(self, *arguments: str, exit_code: int = 0) -> Any:
        """The JSON a command prints; its exit code is as said."""
        code, printed, complaint = self._run(arguments)
        assert code == exit_code, f"{arguments} -> {code}: {printed} {complaint}"
        return json.loads(printed)

    def tried(self, *arguments: str) -> Any:
        """The JSON a command prints, whatever its exit code."""
        return json.loads(self._run(arguments)[1])

    def _run(self, arguments: tuple[str, ...]) -> tuple[int, str, str]:
        """A command's exit code, and what it prints to stdout and stderr."""
        printed, complaint = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaint):
            code = run([*arguments, "--json"])
        return code, printed.getvalue(), complaint.getvalue()

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """The command as a process of its own."""
        process = subprocess.Popen(
            [sys.executable, "-m", "flows.cli", *arguments, "--json"],
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def stop_all(self) -> None:
        """End whatever a test left running."""
        for process in self._started:
            if process.returncode is None:
                process.kill()
                process.communicate()

    def apply_crossref(self, **blocks: Row) -> None:
        """Register Crossref as shipped, quick, with these blocks' settings on top."""
        self("registry", "apply", str(self.quick_file("crossref", **blocks)))

    def quick_file(self, code: str, **blocks: Row) -> Path:
        """A shipped source's file, quick, with these blocks' settings on top."""
        document = read_yaml(shipped_sources()[f"{code}.yaml"])
        for name in ("provider_cap", "with_credential"):
            document["rate_limit"].pop(name, None)
        for name, settings in {**QUICK, **blocks}.items():
            document[name] = {**document.get(name, {}), **settings}
        file = self._folder / f"{code}.yaml"
        file.write_text(yaml_of(document), encoding="utf-8")
        return file

    def reach(self, sandbox: Sandbox, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ask this sandbox instead of the provider."""
        name = f"PATRA_UPSTREAM_{code.upper()}"
        self.environment[name] = sandbox.url(code)
        monkeypatch.setenv(name, sandbox.url(code))

    def rows(self, table: str, *columns: str, where: str = "1=1") -> list[Row]:
        """Rows of a table, in order of id."""
        return self.stored.rows(table, *columns, where=where)

    def items(self) -> dict[str, Any]:
        """The stored version of every record."""
        return {row["provider_id"]: row["source_updated_at"] for row in self.rows("ing_item")}

    def assert_truth(self, truth: list[Row]) -> None:
        """Everything usable is stored in the provider's version, everything else is in quarantine."""
        items = self.items()
        usable = {row["id"]: parse_instant(row["updated_at"]) for row in truth if row["usable"]}
        assert {name: items.get(name) for name in usable} == usable
        unusable = {row["id"] for row in truth if not row["usable"]}
        set_aside = {row["provider_id"] for row in self.rows("ing_quarantine")}
        assert unusable <= set_aside
        assert not set_aside & set(usable)
