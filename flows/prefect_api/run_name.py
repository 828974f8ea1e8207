"""This flow run in Prefect: whether a schedule started it, and its name, tags and pages."""

from collections.abc import Callable, Iterable
from uuid import UUID

from prefect import get_run_logger, runtime
from prefect.artifacts import create_markdown_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactUpdate
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterType, FlowRunFilter, FlowRunFilterId

from flows.prefect_api.chosen_names import is_typed
from flows.text.markdown import caption
from flows.text.wording import shortened

AUTO_SCHEDULED = "auto-scheduled"
"""The tag by which Prefect marks runs that a schedule created."""


def is_scheduled() -> bool:
    """Whether a schedule started this flow run."""
    return AUTO_SCHEDULED in (runtime.flow_run.tags or [])


def label_run(name: str, tags: Iterable[str]) -> None:
    """Rename this flow run unless its user named it, and add tags; a server that cannot just now ends nothing."""
    known = {*(runtime.flow_run.tags or []), *tags}
    try:
        update_run(name, known)
    except Exception as error:  # whatever it is, the work matters more than its name
        get_run_logger().warning("this run keeps its name and tags: %s", error)


def update_run(name: str, tags: Iterable[str]) -> None:
    """Give this flow run these tags, and the name unless its user named it."""
    chosen = None if is_typed() else shortened(name)
    with get_client(sync_client=True) as client:
        client.update_flow_run(UUID(str(runtime.flow_run.id)), name=chosen, tags=sorted(tags))


def change_page(flow_run_id: str, change: Callable[[str], str], card: Callable[[str], str]) -> None:
    """Change the page that another run shows, and the card that leads to it.

    A run without a page, or a server that cannot just now, ends nothing.
    """
    try:
        with get_client(sync_client=True) as client:
            for artifact in client.read_artifacts(
                artifact_filter=ArtifactFilter(type=ArtifactFilterType(any_=["markdown"])),
                flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[UUID(flow_run_id)])),
            ):
                if artifact.id is not None and isinstance(artifact.data, str):
                    described = card(artifact.description or "")
                    client.update_artifact(
                        artifact.id, ArtifactUpdate(data=change(artifact.data), description=described)
                    )
    except Exception as error:
        get_run_logger().warning("the page of run %s is not up to date: %s", flow_run_id, error)


def show_page(markdown: str, description: str) -> None:
    """A page on this run's Artifacts tab; a server that cannot just now ends nothing."""
    try:
        # With a key, the tab would lead to all runs' pages under that key, and from there to one of them.
        create_markdown_artifact(markdown, description=caption(description))
    except Exception as error:
        get_run_logger().warning("this run has no page: %s", error)
