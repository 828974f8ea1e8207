"""What a flow run may choose of the process it is worked in: never the code."""

import asyncio
import os
from typing import Any
from unittest.mock import AsyncMock
from uuid import uuid4

import jsonschema
import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.workers.process import ProcessJobConfiguration, ProcessWorker

from flows.deploying.declared import declared_deployments
from flows.deploying.pools import FIXED, fixed_template
from flows.prefect_api.worker import RUN_ENVIRONMENT, DrainingWorker, FixedJobConfiguration

DEFAULT = ProcessWorker.get_default_base_job_template()
CHOSEN = {
    "command": "touch /evil",
    "working_dir": "/evil",
    "env": {"LD_PRELOAD": "/evil.so", "PYTHONPATH": "/evil", "PYTHONSTARTUP": "/evil.py"},
    "env.PYTHONHOME": "/evil",
    "name": "named",
}


def _prepared(kind: type[ProcessJobConfiguration], template: dict[str, Any]) -> ProcessJobConfiguration:
    """The configuration a worker makes of a template and a flow run's job variables."""
    made = kind.from_template_and_values(template, CHOSEN, client=AsyncMock())
    configuration: ProcessJobConfiguration = asyncio.run(made)
    configuration.prepare_for_flow_run(FlowRun(flow_id=uuid4(), name="execute"))
    return configuration


def _chose(configuration: ProcessJobConfiguration) -> bool:
    named = {value for value in configuration.env.values() if value and "evil" in value}
    return bool(named) or "evil" in f"{configuration.command} {configuration.working_dir}"


def test_prefects_own_template_lets_a_flow_run_choose_its_code() -> None:
    assert _chose(_prepared(ProcessJobConfiguration, DEFAULT))


@pytest.mark.parametrize(
    ("kind", "template"),
    [(ProcessJobConfiguration, fixed_template(DEFAULT)), (FixedJobConfiguration, DEFAULT)],
    ids=["another worker in our pool", "our worker in another pool"],
)
def test_a_flow_run_cannot_choose_its_code(kind: type[ProcessJobConfiguration], template: dict[str, Any]) -> None:
    prepared = _prepared(kind, template)
    assert not _chose(prepared)
    assert prepared.name == "named"
    assert (prepared.command or "").endswith("-m prefect.engine")
    assert not prepared._command_configured
    assert prepared.env["PATH"] == os.environ["PATH"]


def test_our_worker_uses_it_and_sets_what_flow_runs_need() -> None:
    assert DrainingWorker.job_configuration is FixedJobConfiguration
    assert _prepared(FixedJobConfiguration, DEFAULT).env.items() >= RUN_ENVIRONMENT.items()
    assert all(one.job_variables["env"] == RUN_ENVIRONMENT for one in declared_deployments())


def test_the_template_keeps_what_else_it_has_and_refuses_a_command() -> None:
    own = {**DEFAULT, "job_configuration": {**DEFAULT["job_configuration"], "limits": "{{ limits }}"}}
    fixed = fixed_template(own)
    assert fixed_template(fixed) == fixed
    assert fixed["job_configuration"]["limits"] == "{{ limits }}"
    assert not set(FIXED) & set(fixed["job_configuration"])
    assert "{{ stream_output }}" in fixed["job_configuration"].values()
    for refused in ({"command": "true"}, {"working_dir": "/"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(fixed["variables"]).validate(refused)
    jsonschema.Draft202012Validator(fixed["variables"]).validate({"env": {"A": "b"}, "stream_output": True})
    assert "command" in DEFAULT["job_configuration"]  # the one given is not changed
