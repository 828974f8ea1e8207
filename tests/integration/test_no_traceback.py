"""No input ends in a traceback, a hang or half a write: every argument, setting, form field and source-file key.

The lists are generated from what reads them: the command tree, the settings module, the forms and the source file's
models. A new option or key is tried by itself. `make test` runs a sample, `make test-long` all.
"""

import inspect
import os
import re
import shutil
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

import flows.demo
import flows.up.control_room
from flows import parameters
from ingest_core import settings as settings_module
from ingest_core.bootstrap import (
    App,
    check_rows,
    open_core_app,
    open_upstream,
    signing_hooks,
    strategies,
    upgrade_database,
)
from ingest_core.inspection.check_source import CheckRequest, SourceCheck
from ingest_core.inspection.ports import VisibleUpstream
from ingest_core.model.errors import PatraError, Refused
from ingest_core.registry.export import export_source
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.settings import Settings, load_settings
from ingest_core.shipped import shipped_sources
from tests.support.hostile_inputs import (
    NUMBERS,
    TIMES,
    WORDS,
    Case,
    HostileFiles,
    TooSlow,
    cases,
    commands,
    limited,
    row_counts,
    run_case,
)
from tests.support.hostile_sources import VALUES, changed, places

COMMANDS = [" ".join(path) for path, _ in commands()]
CLOSED = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Place:
    """A folder with a database, and hostile files outside of it."""

    folder: Path
    database: Path
    template: Path
    files: dict[str, str]

    def renew(self) -> None:
        """The database as it was in the beginning."""
        for path in self.database.parent.glob(f"{self.database.name}*"):
            path.unlink()
        shutil.copy(self.template, self.database)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A database to copy, and the hostile files."""
    root = tmp_path_factory.mktemp("hostile")
    upgrade_database(Settings(home=root, database_url=f"sqlite:///{root}/template.db"))
    (root / "files").mkdir()
    return root / "template.db", HostileFiles(root / "files").make()


@pytest.fixture
def place(prepared: tuple[Path, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The commands' surroundings: providers that are away, no Prefect, and nothing that starts a server."""
    template, files = prepared
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in [name for name in os.environ if name.startswith(("PATRA_", "PREFECT_API"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATRA_HOME", str(tmp_path))
    monkeypatch.setenv("PATRA_DATABASE_URL", f"sqlite:///{tmp_path}/patra.db")
    for name in shipped_sources():
        monkeypatch.setenv(f"PATRA_UPSTREAM_{name.removesuffix('.yaml').upper()}", CLOSED)
    for module, name in ((flows.demo, "run_demo"), (flows.up.control_room, "run_up")):
        monkeypatch.setattr(module, name, _begun)
    return Place(folder, tmp_path / "patra.db", template, files)


def _begun(*_: object, **__: object) -> None:
    raise Refused("BEGUN", "the arguments are fine: a server would start now")


def _fault(case: Case, place: Place) -> str | None:
    """What is wrong with how a command took its hostile value."""
    rows, listed = row_counts(place.database), set(place.folder.iterdir())
    try:
        ended = run_case(case.arguments)
    except TooSlow:
        return "it hangs"
    if ended.fault:
        return ended.fault
    if ended.code and set(place.folder.iterdir()) != listed:
        return "it failed and left a file"
    return "it refused and wrote rows" if ended.code == 2 and row_counts(place.database) != rows else None


def _faults(wanted: Callable[[int, Case], bool], place: Place) -> tuple[int, dict[str, str]]:
    """How many cases were run, and what is wrong with some."""
    chosen = [case for number, case in enumerate(cases(place.files)) if wanted(number, case)]
    found, command = {}, None
    for case in chosen:
        if case.command != command:
            place.renew()
            command = case.command
        if fault := _fault(case, place):
            found[case.name] = fault
    return len(chosen), found


def test_every_command_that_has_parameters_is_tried(place: Place) -> None:
    found = list(cases(place.files))
    tried = {case.command for case in found}
    without = {path for path, command in commands() if all(getattr(one, "is_flag", 0) for one in command.params)}
    assert tried | without == {path for path, _ in commands()}
    assert len(found) > 5000


SLOW_TO_LOAD = ("deploy", "worker")
"""They load Prefect."""


def test_a_hostile_argument_ends_in_a_message(place: Place) -> None:
    """One value of every 17, so that each parameter meets a few, and each value some parameters."""
    number, faults = _faults(lambda number, case: number % 17 == 0 and case.command[0] not in SLOW_TO_LOAD, place)
    assert number > 300
    assert faults == {}


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_hostile_argument_ends_in_a_message(place: Place, command: str) -> None:
    _, faults = _faults(lambda _, case: " ".join(case.command) == command, place)
    assert faults == {}


# Settings.

SETTING_NAMES = [
    *sorted(set(re.findall(r"PATRA_[A-Z_]*[A-Z]", inspect.getsource(settings_module)))),
    "PATRA_UPSTREAM_CROSSREF",
]
URLS = {
    "a port beyond": "http://127.0.0.1:99999",
    "a port of letters": "https://x:y/",
    "a host of signs": "https://\u2603.example:1/x",
    "a long label": "https://" + "a" * 70 + ".example",
    "an empty label": "https://..",
    "no host": "http:///x",
    "half an address": "https://[::1",
    "a user": "http://u:p@127.0.0.1:9/",
    "a database with two @": "postgresql://u:p@ss@127.0.0.1:9/x",
    "a database option": "sqlite:///x.db?timeout=abc",
    "a database of no file": "sqlite://",
    "a reference": "env:PATRA_DATABASE_URL",
}
USES = (
    ("status",),
    ("plan", "crossref", "--dry-run"),
    ("source", "check", "crossref", "--from=2026-01-01", "--to=2026-01-02"),
    ("outbox", "relay"),
)


def _setting_values(place: Place) -> dict[str, str]:
    paths = {f"file:{name}": f"file:{path}" for name, path in place.files.items()}
    values = {**WORDS, **NUMBERS, **TIMES, **URLS, **place.files, **paths}
    return {name: value for name, value in values.items() if "\x00" not in value}  # which no environment holds


def _setting_faults(place: Place, monkeypatch: pytest.MonkeyPatch, name: str, every: int) -> dict[str, str]:
    found = {}
    for number, (value_name, value) in enumerate(_setting_values(place).items()):
        if (number + len(name)) % every:
            continue
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            for use in USES:
                try:
                    fault = run_case(use).fault
                except TooSlow:
                    fault = "it hangs"
                if fault:
                    found[f"{name} = {value_name}: patra {use[0]}"] = fault
    return found


@pytest.mark.parametrize("name", SETTING_NAMES)
def test_a_hostile_setting_ends_in_a_message(place: Place, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    place.renew()
    assert _setting_faults(place, monkeypatch, name, every=23) == {}


@pytest.mark.long
@pytest.mark.parametrize("name", SETTING_NAMES)
def test_every_hostile_setting_ends_in_a_message(place: Place, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    place.renew()
    assert _setting_faults(place, monkeypatch, name, every=1) == {}


@pytest.mark.parametrize("name", SETTING_NAMES)
def test_a_setting_is_fine_or_named(place: Place, name: str) -> None:
    refusals = [_refusal({name: value}) for value in _setting_values(place).values()]
    assert {error.where for error in refusals if error} <= {name}
    assert max(len(str(error)) for error in refusals) < 1000


def _refusal(environment: dict[str, str]) -> PatraError | None:
    try:
        load_settings(environment)
    except PatraError as error:
        return error
    return None


# Forms.

FORMS: dict[type[parameters.Form], dict[str, Any]] = {
    parameters.Pace: {},
    parameters.PlanParameters: {"source": "crossref", "dry_run": True},
    parameters.BackfillParameters: {"source": "crossref", "window_from": "2020-01-01", "window_to": "2020-01-02"},
    parameters.ExecuteParameters: {},
    parameters.HousekeepingParameters: {},
}
FIELD_VALUES: dict[str, Any] = {
    **WORDS,
    **VALUES,
    "10**400": 10**400,
    "2**63 as a number": 2**63,
    "texts with NUL": ["a\x00b"],
    "lone surrogates": ["\ud800"],
    "many texts": ["x"] * 100_000,
    "a setting of digits": {"pagination.page_size": "9" * 5000},
    "a setting of nan": {"rate_limit.requests_per_second": "nan"},
    "a setting of inf": {"rate_limit.requests_per_second": "inf"},
    "a tiny setting": {"rate_limit.requests_per_second": "1e-300"},
    "a long setting": {"window.step": "P999999999D"},
    "a setting of no name": {"\x00": "\ud800"},
}


def test_every_form_is_tried() -> None:
    found = {one for one in vars(parameters).values() if inspect.isclass(one) and issubclass(one, parameters.Form)}
    assert found - {parameters.Form, parameters.PlanForm} == set(FORMS)


def _filled(form: type[parameters.Form]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The form, with every hostile value in every field."""
    for field in form.model_fields:
        for name, value in FIELD_VALUES.items():
            yield f"{field} = {name}", {**FORMS[form], field: value}
    for field in parameters.Pace.model_fields if "pace" in form.model_fields else ():
        for name, value in FIELD_VALUES.items():
            yield f"pace.{field} = {name}", {**FORMS[form], "pace": {field: value}}


def _use(form: parameters.Form, app: App) -> None:
    """What a flow does with a form first."""
    if isinstance(form, parameters.PlanForm):
        moment = form.clock()
        app.planner.dry_run(form.request(moment or datetime.now(UTC)), moment)
    elif isinstance(form, parameters.ExecuteParameters):
        form.bounds()


def _form_faults(form: type[parameters.Form], every: int) -> dict[str, str]:
    found = {}
    with open_core_app() as app:
        for number, (name, given) in enumerate(_filled(form)):
            if number % every:
                continue
            try:
                with limited():
                    _use(form.model_validate(given), app)
            except (ValidationError, PatraError) as error:
                if not str(error).strip():
                    found[name] = "no message"
            except (Exception, TooSlow) as error:  # whatever it is, it is a fault
                found[name] = _where(error)
    return found


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_hostile_form_field_ends_in_a_message(place: Place, form: type[parameters.Form]) -> None:
    place.renew()
    assert _form_faults(form, every=7) == {}


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_hostile_form_field_ends_in_a_message(place: Place, form: type[parameters.Form]) -> None:
    place.renew()
    assert _form_faults(form, every=1) == {}


# Source files.

FAST_SOURCES = ("crossref", "pubmed", "arxiv")


def _documents(names: tuple[str, ...], every: int) -> Iterator[tuple[str, dict[str, Any]]]:
    number = 0
    for name in names:
        document = yaml.safe_load(shipped_sources()[f"{name}.yaml"])
        for where in places(document):
            for value_name, value in VALUES.items():
                number += 1
                if number % every == 0:
                    shown = f"{name} {'.'.join(map(str, where))} = {value_name}"
                    yield shown, changed(document, where, value)


def _source_faults(documents: Iterator[tuple[str, dict[str, Any]]]) -> tuple[int, dict[str, str]]:
    found, number = {}, 0
    with open_upstream(Settings()) as upstream:
        for name, document in documents:
            number += 1
            text = yaml.dump(document, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
            try:
                with limited():
                    _apply(text, upstream)
            except PatraError as error:
                if not str(error).strip():
                    found[name] = "no message"
            except (Exception, TooSlow) as error:  # whatever it is, it is a fault
                found[name] = _where(error)
    return number, found


def _apply(text: str, upstream: VisibleUpstream) -> None:
    """A source file is read, compiled, looked at with the requests it would send, and exported."""
    rows = check_rows(rows_of(read_source(text, "hostile.yaml")), datetime.now(UTC))
    asked = CheckRequest(ids=("1",))
    SourceCheck(rows, asked, upstream, datetime.now(UTC), None, signing_hooks(), strategies().codes).describe()
    export_source(rows)


def test_a_hostile_value_in_a_source_file_ends_in_a_message() -> None:
    number, faults = _source_faults(_documents(FAST_SOURCES, every=199))
    assert number > 200
    assert faults == {}


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", [name.removesuffix(".yaml") for name in shipped_sources()])
def test_every_hostile_value_in_a_source_file_ends_in_a_message(name: str) -> None:
    number, faults = _source_faults(_documents((name,), every=11))
    assert number > 1000
    assert faults == {}


def _where(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {last.filename}:{last.lineno}: {str(error)[:200]}"
