"""The Prefect server at PREFECT_API_URL; what goes wrong there is said in our words."""

from collections.abc import Iterator
from contextlib import contextmanager

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.exceptions import PrefectHTTPStatusError
from prefect.settings import get_current_settings

from ingest_core.model.errors import BadInput, PatraError, Unreachable

_UNAUTHORISED = 401


def server_url() -> str:
    """The API's address; BadInput when none is named."""
    url = get_current_settings().api.url
    if not url:
        raise BadInput(
            "PREFECT_URL_MISSING",
            "no Prefect server is named",
            where="PREFECT_API_URL",
            remedy="set it, such as http://127.0.0.1:4200/api, or start a server of your own: patra up",
        )
    return url


@contextmanager
def open_server() -> Iterator[SyncPrefectClient]:
    """A client that asks a busy server again; errors come as ours."""
    url = server_url()
    try:
        with get_client(sync_client=True) as client:
            failure = client.api_healthcheck()
            if failure is not None:
                raise failure
            yield client
    except PrefectHTTPStatusError as error:
        raise _refusal(error, url) from error
    except Exception as error:
        # Prefect lets its HTTP library's errors through; that library is no concern of a flow.
        if type(error).__module__.split(".")[0] not in ("httpx", "httpcore"):
            raise
        raise _unreachable(url, str(error)) from error


def _refusal(error: PrefectHTTPStatusError, url: str) -> PatraError:
    if error.response.status_code == _UNAUTHORISED:
        return BadInput(
            "PREFECT_UNAUTHORISED",
            "the server wants to know who asks",
            where=f"Prefect at {url}",
            remedy="set PREFECT_API_AUTH_STRING or PREFECT_API_KEY",
        )
    if error.response.is_server_error:
        return _unreachable(url, str(error))
    return PatraError("PREFECT_REFUSED", str(error), where=f"Prefect at {url}")


def _unreachable(url: str, reason: str) -> Unreachable:
    return Unreachable(
        "PREFECT_UNREACHABLE",
        f"does not answer: {reason}",
        where=f"Prefect at {url}",
        remedy="start it, or set PREFECT_API_URL to one that runs",
    )
