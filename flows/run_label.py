"""What a flow run is called and tagged, once it is known what it is about."""

from collections.abc import Iterable
from uuid import UUID

from prefect import get_run_logger, runtime
from prefect.artifacts import create_markdown_artifact
from prefect.client.orchestration import get_client

from flows.markdown import caption
from flows.wording import shortened


def label_run(name: str, tags: Iterable[str]) -> None:
    """Rename this flow run, and add tags to those it has; a server that cannot just now ends nothing."""
    known = {*(runtime.flow_run.tags or []), *tags}
    try:
        with get_client(sync_client=True) as client:
            client.update_flow_run(UUID(str(runtime.flow_run.id)), name=shortened(name), tags=sorted(known))
    except Exception as error:  # whatever it is, the work matters more than its name
        get_run_logger().warning("this run keeps its name and tags: %s", error)


def show_page(markdown: str, description: str) -> None:
    """A page on this run's Artifacts tab; a server that cannot just now ends nothing."""
    try:
        # With a key, the tab would lead to all runs' pages under that key, and from there to one of them.
        create_markdown_artifact(markdown, description=caption(description))
    except Exception as error:
        get_run_logger().warning("this run has no page: %s", error)
