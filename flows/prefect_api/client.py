"""Prefect's API as flows and commands call it: a server that does not answer is said so in our words."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from httpx import HTTPStatusError, TransportError
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowFilter, FlowFilterName
from prefect.client.schemas.responses import DeploymentResponse
from prefect.context import SettingsContext, get_settings_context
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, Settings

from ingest_core.model.errors import BadInput, Unreachable
from ingest_core.model.web_address import address_problem

REQUEST_SECONDS = 20.0
"""Timeout of one request; Prefect's client repeats requests that a busy server refuses, for about a minute."""

PLANNER = "planner"
"""The flow that plans, and its deployment for manual runs; each harvest has another deployment of it."""

_BUSY = 503
_UNAUTHORISED = 401
_PAGE = 200


def server_url() -> str:
    """The API's address; BadInput when none is named, or it is not a URL."""
    url: str | None = PREFECT_API_URL.value()
    if not url:
        raise BadInput(
            "PREFECT_URL_MISSING",
            "no Prefect server is named",
            where="PREFECT_API_URL",
            remedy="set it, such as http://127.0.0.1:4200/api, or start a server of your own: patra up",
        )
    problem = address_problem(url, ("http", "https"))
    if problem:
        remedy = "write it as http://127.0.0.1:4200/api"
        raise BadInput("PREFECT_URL_INVALID", f"not a server's URL: {problem}", where="PREFECT_API_URL", remedy=remedy)
    return url


@contextmanager
def open_prefect() -> Iterator[SyncPrefectClient]:
    """A client of the server at PREFECT_API_URL, which threads may share."""
    with reaching_prefect(), get_client(httpx_settings={"timeout": REQUEST_SECONDS}, sync_client=True) as client:
        yield client


@contextmanager
def reaching_prefect() -> Iterator[None]:
    """Unreachable where Prefect does not answer; BadInput where it wants to know who asks."""
    try:
        yield
    except TransportError as error:
        raise _unreachable(str(error) or type(error).__name__) from error
    except HTTPStatusError as error:
        if error.response.status_code == _UNAUTHORISED:
            raise _unauthorised() from error
        if error.response.status_code != _BUSY:
            raise
        raise _unreachable("it is too busy to answer") from error
    except ValueError as error:
        if "PREFECT_API_URL" not in str(error):
            raise
        raise _unreachable("no server is named") from error


def deployments_of(client: SyncPrefectClient, flow: str) -> list[DeploymentResponse]:
    """Every deployment of a flow."""
    named = FlowFilter(name=FlowFilterName(any_=[flow]))
    found: list[DeploymentResponse] = []
    while page := client.read_deployments(flow_filter=named, limit=_PAGE, offset=len(found)):
        found += page
    return found


@contextmanager
def asking_once() -> Iterator[None]:
    """No second try by Prefect's client: what is not asked for twice cannot be done twice."""
    with SettingsContext(profile=get_settings_context().profile, settings=_without_retries()):
        yield


@cache
def _without_retries() -> Settings:
    """Made once: it takes many times as long as a request."""
    return get_settings_context().settings.copy_with_update(updates={PREFECT_CLIENT_MAX_RETRIES: 0})


def _unreachable(message: str) -> Unreachable:
    return Unreachable(
        "PREFECT_UNREACHABLE",
        message,
        where=f"Prefect server {PREFECT_API_URL.value() or ''}".strip(),
        remedy="start it, or set PREFECT_API_URL",
    )


def _unauthorised() -> BadInput:
    return BadInput(
        "PREFECT_UNAUTHORISED",
        "wants to know who asks",
        where=f"Prefect server {PREFECT_API_URL.value()}",
        remedy="set PREFECT_API_AUTH_STRING, or PREFECT_API_KEY",
    )
