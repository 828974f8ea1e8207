"""A deployment for each harvest: in the UI a deployment has a name, where a schedule has nothing but its time."""

import zlib
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from flows.deploying.declared import DeclaredDeployment
from ingest_core.model.codes import Operation
from ingest_core.model.source_summary import SourceSummary

_PREFIX = "harvest-"

HARVEST_FIELDS = ("window", "window_from", "window_to", "query", "priority", "pace", "overrides", "dry_run")
"""What can be asked of a harvest; its source and endpoint are the deployment's."""


def harvest_deployments(planner: DeclaredDeployment, sources: list[SourceSummary]) -> list[DeclaredDeployment]:
    """The planner once more for every endpoint that can be harvested, on a schedule that waits to be switched on."""
    return [
        replace(
            planner,
            name=f"{_PREFIX}{slug}",
            description=f"Plans a harvest of {source.name}. Its schedule is off until you switch it on.",
            tags=[*planner.tags, f"source:{source.code}"],
            parameters={"parameters": asked},
            schedules=[_hourly(slug)],
            fields=HARVEST_FIELDS,
        )
        for source in sources
        for slug, asked in _harvests(source)
    ]


def obsolete_harvests(present: Collection[str], wanted: list[DeclaredDeployment]) -> list[str]:
    """Those of these deployments' names that were made for a harvest there is no more."""
    known = {one.name for one in wanted}
    return sorted(name for name in present if name.startswith(_PREFIX) and name not in known)


def _harvests(source: SourceSummary) -> Iterator[tuple[str, dict[str, str]]]:
    code = source.code
    names = [one.name for one in source.endpoints if Operation.HARVEST in one.operations]
    for name in names:
        yield (code, {"source": code}) if len(names) == 1 else (f"{code}-{name}", {"source": code, "endpoint": name})


def _hourly(slug: str) -> dict[str, Any]:
    """Every hour at a minute that stays the same, so that sources do not begin together."""
    minute = zlib.crc32(slug.encode()) % 60
    return {"slug": "hourly", "cron": f"{minute} * * * *", "timezone": "UTC", "active": False}
