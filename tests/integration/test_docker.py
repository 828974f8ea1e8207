"""The image and the compose file, as far as that can be known without an engine."""

import copy
import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from flows.parameters import ExecuteParameters
from ingest_core import __version__
from tests.support.commands import refusal
from tests.support.dockerfile import in_context, instructions, stages
from tests.support.shipped_settings import known_variables, unknown_variables

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deployments" / "docker"
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE_TEXT = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = f"patra-ingest:{__version__}"
PINNED = re.compile(r"[\w./-]+:\d+\.\d+\.\d+(-[\w.]+)?|postgres:\d+\.\d+-[\w.]+")
_INTERPOLATED = re.compile(r"(?<!\$)\$\{(\w+)(?:(:[?-])([^}]*))?\}")
_SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|API_KEY|AUTH_STRING")


def _schema() -> Any:
    """The Compose Specification's own schema, as check-jsonschema ships it."""
    return json.loads((files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json").read_text())


def _check(document: Any) -> None:
    jsonschema.Draft202012Validator(_schema()).validate(document)


def test_the_compose_file_is_one() -> None:
    _check(COMPOSE)


@pytest.mark.parametrize("mistake", [{"restarts": "always"}, {"depends_on": {"redis": {"condition": "healthy"}}}])
def test_a_mistake_in_the_compose_file_would_be_found(mistake: dict[str, Any]) -> None:
    broken = copy.deepcopy(COMPOSE)
    broken["services"]["worker"] |= mistake
    with pytest.raises(jsonschema.ValidationError):
        _check(broken)


def test_every_setting_of_a_container_exists() -> None:
    assert unknown_variables(COMPOSE_TEXT) == set()
    assert unknown_variables(DOCKERFILE) == set()
    assert unknown_variables("PREFECT_SERVER_LEASES PATRA_DATABASE PATRA_CONTACT") == {
        "PREFECT_SERVER_LEASES",
        "PATRA_DATABASE",
    }


def test_every_secret_of_the_workers_is_one_a_source_asks_for() -> None:
    assert set(_example("secrets.env.example")) <= known_variables()


def _example(name: str) -> dict[str, str]:
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_the_example_names_what_the_compose_file_asks_for_and_no_password() -> None:
    asked = {name for name, _, _ in _INTERPOLATED.findall(COMPOSE_TEXT)}
    example = _example(".env.example")
    assert set(example) == asked
    assert {name: value for name, value in example.items() if _SECRET.search(name) and value} == {}
    assert set(_example("secrets.env.example").values()) == {""}


def test_no_password_has_a_default_and_each_is_asked_for_by_name() -> None:
    uses = [(name, how) for name, how, _ in _INTERPOLATED.findall(COMPOSE_TEXT) if _SECRET.search(name)]
    assert {name for name, how in uses if how == ":-"} == set()
    assert {name for name, _ in uses} == {name for name, how in uses if how == ":?"}
    secrets = re.findall(r"(\w*(?:PASSWORD|AUTH\w*|SECRET)\w*): (.+)", COMPOSE_TEXT)
    assert {value for _, value in secrets if not value.startswith("${")} == set()


@pytest.mark.parametrize("name", [".env", "secrets.env"])
def test_git_and_the_builder_leave_secrets_out(name: str) -> None:
    ignored = subprocess.run(["git", "check-ignore", "-q", f"deployments/docker/{name}"], cwd=ROOT, check=False)
    assert ignored.returncode == 0
    assert not in_context(f"deployments/docker/{name}")


def test_every_image_is_pinned_and_ours_is_of_this_version() -> None:
    images = {service["image"] for service in SERVICES.values()}
    assert OURS in images
    assert {image for image in images if not PINNED.fullmatch(image)} == set()
    bases = {words[0] for instruction, words in instructions() if instruction == "FROM"}
    assert {base for base in bases if not re.fullmatch(r"python:3\.11\.\d+-slim-\w+", base)} == set()


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if service["image"] == OURS])
def test_every_command_of_a_container_is_understood(name: str) -> None:
    command = [_filled(word) for word in SERVICES[name]["command"]]
    assert refusal(command) is None


def _filled(word: str) -> str:
    return _INTERPOLATED.sub(lambda found: found[3], word)


@pytest.mark.parametrize(
    "command", ["patra work", "patra worker --limits 3", "prefect server begin", "prefect server start --no-service"]
)
def test_a_command_that_does_not_exist_would_be_found(command: str) -> None:
    assert refusal(command.split())
    assert refusal(["sh", "-c", f"patra db upgrade && {command}"])


def test_whatever_a_service_waits_for_is_there() -> None:
    for name, service in SERVICES.items():
        for other, condition in service.get("depends_on", {}).items():
            assert other in SERVICES, name
            if condition["condition"] == "service_healthy":
                assert "test" in SERVICES[other]["healthcheck"]


def test_every_service_is_restarted_and_says_how_it_is_or_why_not() -> None:
    assert {name for name, service in SERVICES.items() if "restart" not in service} == set()
    unasked = {name for name, one in SERVICES.items() if one.get("healthcheck", {}).get("disable")}
    assert unasked == {"migrate", "deploy", "services"}


def test_a_worker_has_more_time_to_end_than_an_executor_takes() -> None:
    minutes = re.fullmatch(r"(\d+)m", SERVICES["worker"]["stop_grace_period"])
    assert minutes
    assert int(minutes[1]) > ExecuteParameters().minutes


def test_every_file_that_is_mounted_is_there_and_every_volume_declared() -> None:
    mounts = [volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])]
    assert mounts
    assert {one for one in mounts if one.startswith("./") and not (FOLDER / one).is_file()} == set()
    assert {one for one in mounts if not one.startswith("./")} == set(COMPOSE["volumes"])


def test_the_servers_share_everything_through_redis_and_postgresql() -> None:
    for name in ("server", "services"):
        environment = SERVICES[name]["environment"]
        modules = {value for value in environment.values() if value.startswith("prefect_redis.")}
        assert modules == {
            f"prefect_redis.{one}" for one in ("messaging", "ordering", "lease_storage", "cleanup_queue")
        }
        assert environment["PREFECT_SERVER_DATABASE_CONNECTION_URL"].startswith("postgresql+asyncpg://")
        assert environment["PREFECT_SERVER_DOCKET_URL"].startswith("redis://")


def test_the_linter_has_nothing_to_say_about_the_image() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, FOLDER / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_whatever_the_image_copies_is_there_and_reaches_the_builder() -> None:
    copies = [words for instruction, words in instructions() if instruction == "COPY"]
    sources = [source for words in copies if not words[0].startswith("--from") for source in words[:-1]]
    assert {source for source in sources if not (ROOT / source).exists() or not in_context(source)} == set()
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    assert packages <= set(sources)


def test_the_image_runs_as_a_user_of_its_own_with_the_lock_and_a_check() -> None:
    final = stages()[-1]
    assert [words for name, words in final if name == "USER"] == [["10001"]]
    assert [name for name, _ in final if name == "HEALTHCHECK"]
    runs = [" ".join(words) for name, words in instructions() if name == "RUN"]
    assert [run for run in runs if "uv pip install" in run and "requirements.lock" not in run] == []
    assert _SECRET.search(str([words for name, words in instructions() if name in {"ARG", "ENV"}])) is None


def test_image_and_makefile_install_the_same_installer_and_check_its_hash() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lock = (ROOT / "requirements-uv.lock").read_text(encoding="utf-8")
    version = re.search(r"^UV_VERSION := (.+)$", makefile, re.MULTILINE)
    assert version
    assert re.findall(r"^\w\S*==\S+", lock, re.MULTILINE) == [f"uv=={version[1]}"]
    assert lock.count("--hash=sha256:") > 10  # one for each platform
    pip = [line for line in (makefile + DOCKERFILE).splitlines() if re.search(r"\bpip install\b", line)]
    by_pip = [line for line in pip if "uv pip" not in line and "$(UV) pip" not in line]
    assert len(by_pip) == 2
    assert [line for line in by_pip if "--require-hashes" not in line or "requirements-uv.lock" not in line] == []


def test_what_the_image_does_by_itself_is_understood() -> None:
    (command,) = [" ".join(words) for name, words in instructions() if name == "CMD"]
    assert refusal(json.loads(command)) is None
