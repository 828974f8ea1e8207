"""What the files declare: the deployments of `prefect.yaml`, and the automations."""

from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class DeclaredDeployment:
    """One deployment as `prefect.yaml` has it."""

    name: str
    entrypoint: str
    description: str
    tags: list[str]
    parameters: dict[str, Any]
    pool: str
    queue: str
    job_variables: dict[str, Any]
    concurrency: dict[str, Any] | None = None
    schedules: list[dict[str, Any]] = field(default_factory=list)
    fields: tuple[str, ...] | None = None
    """The fields that its form shows; None shows all. What is given by `parameters` and not shown cannot be changed."""


def declared_deployments(pool: str | None = None) -> list[DeclaredDeployment]:
    """The deployments of `prefect.yaml`, in another pool where one is named."""
    document = yaml.safe_load(_prefect_file().read_text(encoding="utf-8"))
    return [_deployment(entry, pool) for entry in document["deployments"]]


def _deployment(entry: dict[str, Any], pool: str | None) -> DeclaredDeployment:
    place = entry["work_pool"]
    return DeclaredDeployment(
        name=entry["name"],
        entrypoint=entry["entrypoint"],
        description=entry["description"],
        tags=entry["tags"],
        parameters=entry.get("parameters", {}),
        pool=pool or place["name"],
        queue=place["work_queue_name"],
        job_variables=place["job_variables"],
        concurrency=entry.get("concurrency_limit"),
        schedules=entry.get("schedules", []),
    )


def _prefect_file() -> Path:
    """`prefect.yaml`: a wheel carries it here, a checkout has it at the top."""
    package = Path(__file__).resolve().parent
    inside = package / "prefect.yaml"
    return inside if inside.exists() else package.parents[1] / "prefect.yaml"


def declared_automations() -> list[dict[str, Any]]:
    """Every file of `deployments/automations`, in order of its name."""
    folder = files("deployments") / "automations"
    entries = sorted((one for one in folder.iterdir() if one.name.endswith(".yaml")), key=lambda one: one.name)
    return [yaml.safe_load(entry.read_text(encoding="utf-8")) for entry in entries]
