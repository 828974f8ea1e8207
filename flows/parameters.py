"""What a flow can be asked: models made for the run form, checked before anything is written."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from ingest_core.model.codes import Operation
from ingest_core.model.instant import as_utc
from ingest_core.planning.request import PlanRequest


class PlanParameters(BaseModel):
    """One plan."""

    model_config = ConfigDict(extra="forbid")

    source: str = Field(title="Source", description="The code of a registered source, such as crossref.")
    operation: Operation = Field(default=Operation.HARVEST, title="Operation")
    endpoint: str | None = Field(default=None, title="Endpoint", description="Needed where a source has several.")
    window_from: datetime | None = Field(default=None, title="From", description="Lower bound, included; UTC.")
    window_to: datetime | None = Field(default=None, title="To", description="Upper bound, not included; UTC.")
    query: str | None = Field(
        default=None,
        title="Query",
        description='Only records that match, such as title:"heart failure" AND NOT type:review. Its own watermark.',
    )
    overrides: dict[str, str] = Field(
        default_factory=dict,
        title="Overrides",
        description='Settings for this plan only, such as {"pagination.page_size": "200"}.',
    )
    campaign: str | None = Field(
        default=None,
        title="Campaign",
        description="Names a BACKFILL or UPDATE: under the same name, a later run goes on where the last stopped.",
    )
    newest_first: bool = Field(default=False, title="Newest first", description="A BACKFILL from the newest down.")
    ids: list[str] = Field(default_factory=list, title="Ids", description="The records an UPDATE refreshes.")
    now: datetime | None = Field(
        default=None, title="Now", description="Replaces the clock for planning only, for tests and explanations."
    )

    def request(self) -> PlanRequest:
        """The request, refused here if it cannot be meant."""
        return PlanRequest(
            source=self.source,
            operation=self.operation,
            endpoint=self.endpoint,
            user_from=as_utc(self.window_from) if self.window_from else None,
            user_to=as_utc(self.window_to) if self.window_to else None,
            query=self.query,
            overrides=self.overrides,
            campaign=self.campaign,
            newest_first=self.newest_first,
            ids=tuple(self.ids),
        )

    def clock(self) -> datetime | None:
        """The moment planning takes for now; none means the database's clock."""
        return as_utc(self.now) if self.now else None


class ExecuteParameters(BaseModel):
    """One executor run."""

    model_config = ConfigDict(extra="forbid")

    source: str | None = Field(default=None, title="Source", description="Only this source's tasks; all, if left out.")
    minutes: float = Field(
        default=5,
        gt=0,
        le=1440,
        title="Minutes",
        description="No task is begun after so many minutes; those that were begun are finished.",
    )
    max_tasks: int = Field(default=500, ge=1, le=1500, title="Tasks", description="Stop after so many tasks.")
    at_once: int = Field(default=4, ge=1, le=32, title="At once", description="So many tasks are worked side by side.")
    until_idle: bool = Field(
        default=False,
        title="Until idle",
        description="Also wait for leases and scheduled tasks that come free soon; end when none will.",
    )
    wait_for_work: bool = Field(
        default=False,
        title="Wait for work",
        description="Stay for all of these minutes, and take up work as it appears. Meant for schedules.",
    )
