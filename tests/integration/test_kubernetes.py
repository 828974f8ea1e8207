"""The manifests and the work pool's template, as far as that can be known without a cluster."""

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import prefect
import pytest
import yaml

from ingest_core import __version__
from tests.support.commands import refusal
from tests.support.shipped_settings import unknown_variables

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deployments" / "kubernetes"
OVERLAYS = ("process-workers", "job-workers")
OURS = f"patra-ingest:{__version__}"
PREFECTS = f"prefecthq/prefect:{prefect.__version__}-python3.11-kubernetes"
VERSIONS = ("1.31", "1.37")
"""The oldest and the newest Kubernetes the manifests are checked against."""
INTEGRATION = {
    "PREFECT_INTEGRATIONS_KUBERNETES_OBSERVER_NAMESPACES",
    "PREFECT_INTEGRATIONS_KUBERNETES_WORKER_API_AUTH_STRING_SECRET_KEY",
    "PREFECT_INTEGRATIONS_KUBERNETES_WORKER_API_AUTH_STRING_SECRET_NAME",
}
"""Settings of prefect-kubernetes 0.8, which is in the worker's image and not here."""
PREFECTS_PATIENCE_SECONDS = 30
"""How long `prefect flow-run execute` lets a flow end before it kills it."""

Document = dict[str, Any]


def _documents(path: Path) -> list[Document]:
    return [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one]


def _kustomization(folder: Path) -> Document:
    (found,) = _documents(folder / "kustomization.yaml")
    return found


def _resources(folder: Path) -> list[Document]:
    """What a kustomization brings, without its patches."""
    found: list[Document] = []
    for entry in _kustomization(folder)["resources"]:
        path = folder / entry
        found += _resources(path) if path.is_dir() else _documents(path)
    return found


EXAMPLE = _documents(FOLDER / "base" / "secret.example.yaml")
PATCH = _documents(FOLDER / "job-workers" / "deploy.yaml")
EVERY_FILE = sorted(FOLDER.rglob("*.*"))
MANIFESTS = [path for path in EVERY_FILE if path.suffix == ".yaml" and path.name != "kustomization.yaml"]
TEMPLATE: Document = json.loads((FOLDER / "job-workers" / "base-job-template.json").read_text(encoding="utf-8"))


def _named(documents: list[Document]) -> dict[tuple[str, str], Document]:
    return {(one["kind"], one["metadata"]["name"]): one for one in documents}


def _pods(documents: list[Document]) -> dict[str, Document]:
    """The pod of each workload, by the workload's name."""
    return {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]
        for one in documents
        if "template" in one.get("spec", {})
    }


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_manifest_is_one(path: Path, version: str) -> None:
    for document in _documents(path):
        kubernetes_validate.validate(document, version, strict=True)


def test_a_mistake_in_a_manifest_would_be_found() -> None:
    broken = copy.deepcopy(_named(_resources(FOLDER / "base"))["Deployment", "server"])
    broken["spec"]["template"]["spec"]["terminationGracePeriod"] = 60
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, VERSIONS[-1], strict=True)


def test_every_file_is_used_but_the_example_of_secrets() -> None:
    used = {FOLDER / "base" / "secret.example.yaml", *FOLDER.glob("*/kustomization.yaml")}
    for folder in FOLDER.iterdir():
        rules = _kustomization(folder)
        named = [*rules["resources"], *(one["path"] for one in rules.get("patches", []))]
        named += [file for one in rules.get("configMapGenerator", []) for file in one["files"]]
        assert [name for name in named if not (folder / name).exists()] == []
        used |= {folder / name for name in named if (folder / name).is_file()}
    assert used == set(EVERY_FILE)


def test_a_patch_has_something_to_change() -> None:
    there = _named(_resources(FOLDER / "base"))
    assert [name for name in _named(PATCH) if name not in there] == []


def test_every_setting_exists() -> None:
    for path in EVERY_FILE:
        assert unknown_variables(path.read_text(encoding="utf-8")) - INTEGRATION == set(), path


def test_the_server_is_told_the_same_as_in_the_compose_file() -> None:
    compose = yaml.safe_load((ROOT / "deployments" / "docker" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    config, secrets = _named(_resources(FOLDER / "base")), _named(EXAMPLE)
    for kind, service in (("patra-server", "server"), ("patra-client", "deploy")):
        given = set(config["ConfigMap", kind]["data"]) | set(secrets["Secret", kind]["stringData"])
        assert given == set(compose[service]["environment"]), kind
    shared = config["ConfigMap", "patra-server"]["data"]
    differing = {name for name, value in shared.items() if compose["server"]["environment"][name] != value}
    assert differing == {"PREFECT_SERVER_CORS_ALLOWED_ORIGINS", "PREFECT_SERVER_UI_API_URL"}


def test_no_secret_is_in_the_repository() -> None:
    assert {value for one in EXAMPLE for value in one["stringData"].values()} == {""}
    ignored = subprocess.run(["git", "check-ignore", "-q", str(FOLDER / "base" / "secret.yaml")], cwd=ROOT, check=False)
    assert ignored.returncode == 0


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_images_are_pinned_and_the_jobs_of_a_version_carry_it(overlay: str) -> None:
    resources = _resources(FOLDER / overlay)
    images = {container["image"] for pod in _pods(resources).values() for container in pod["containers"]}
    assert images <= {OURS, PREFECTS}
    jobs = {one["metadata"]["name"] for one in resources if one["kind"] == "Job"}
    assert jobs == {f"{name}-{__version__.replace('.', '-')}" for name in ("migrate", "deploy")}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_command_is_understood(overlay: str) -> None:
    patches = PATCH if overlay == "job-workers" else []
    commands = [
        one["command"] for pod in _pods([*_resources(FOLDER / overlay), *patches]).values() for one in pod["containers"]
    ]
    assert {refusal(command) for command in commands} == {None}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_whatever_a_pod_refers_to_is_there(overlay: str) -> None:
    resources = _named([*_resources(FOLDER / overlay), *EXAMPLE])
    for pod in _pods([*resources.values()]).values():
        if name := pod.get("serviceAccountName"):
            assert ("ServiceAccount", name) in resources
        for container in pod["containers"]:
            for source in container["envFrom"]:
                (kind,) = source
                assert ({"configMapRef": "ConfigMap", "secretRef": "Secret"}[kind], source[kind]["name"]) in resources
            keys = [one["valueFrom"]["secretKeyRef"] for one in container.get("env", []) if "valueFrom" in one]
            assert [key for key in keys if key["key"] not in resources["Secret", key["name"]]["stringData"]] == []


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_container_is_restricted_and_says_what_it_needs(overlay: str) -> None:
    for name, pod in _pods(_resources(FOLDER / overlay)).items():
        _assert_restricted(pod, name)


def _assert_restricted(pod: Document, name: str) -> None:
    assert pod["securityContext"]["runAsNonRoot"] is True, name
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
    for container in pod["containers"]:
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert {"cpu", "memory"} <= set(container["resources"]["requests"]), name
        assert "memory" in container["resources"]["limits"], name


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_probes_ask_a_port_that_is_open(overlay: str) -> None:
    for pod in _pods(_resources(FOLDER / overlay)).values():
        for container in pod["containers"]:
            ports = {port["name"] for port in container.get("ports", [])}
            probes = [probe for key, probe in container.items() if key.endswith("Probe")]
            assert {probe["httpGet"]["port"] for probe in probes} <= ports


def test_a_worker_has_as_long_to_end_as_in_the_compose_file() -> None:
    assert _pods(_resources(FOLDER / "process-workers"))["worker"]["terminationGracePeriodSeconds"] == 600


def _check_template(template: Document) -> None:
    from prefect.server.schemas.actions import WorkPoolCreate

    WorkPoolCreate(name="patra", type="kubernetes", base_job_template=template)


def test_prefect_takes_the_template() -> None:
    _check_template(TEMPLATE)


def test_a_placeholder_without_its_variable_would_be_found() -> None:
    broken = copy.deepcopy(TEMPLATE)
    del broken["variables"]["properties"]["end_seconds"]
    with pytest.raises(Exception, match="end_seconds"):
        _check_template(broken)


def _job() -> Document:
    """The Job of a flow run, as the worker makes it from the template's own defaults."""
    from prefect.utilities.templating import apply_values

    defaults = {name: one["default"] for name, one in TEMPLATE["variables"]["properties"].items()}
    defaults |= {"name": "execute", "env": [], "command": ["prefect", "flow-run", "execute"]}
    job: Document = apply_values(TEMPLATE["job_configuration"]["job_manifest"], defaults)
    return job


@pytest.mark.parametrize("version", VERSIONS)
def test_the_template_makes_jobs(version: str) -> None:
    job = _job()
    kubernetes_validate.validate({**job, "metadata": {**job["metadata"], "name": "execute"}}, version, strict=True)
    assert "{{ " not in json.dumps(job)


def test_the_jobs_are_restricted_and_have_time_to_end() -> None:
    pod = _job()["spec"]["template"]["spec"]
    _assert_restricted(pod, "template")
    (container,) = pod["containers"]
    assert container["name"] == "prefect-job"  # its worker asks for that name
    assert container["image"] == OURS
    assert pod["terminationGracePeriodSeconds"] > PREFECTS_PATIENCE_SECONDS
    worker = _pods(_resources(FOLDER / "process-workers"))["worker"]["containers"][0]
    assert container["envFrom"] == worker["envFrom"]


def test_the_templates_defaults_are_of_their_own_kind() -> None:
    schema = TEMPLATE["variables"]
    jsonschema.Draft202012Validator(schema).validate(
        {name: one["default"] for name, one in schema["properties"].items()}
    )
