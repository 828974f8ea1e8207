"""The demo: a simulated Crossref, a private Prefect, and two harvests a few hours apart."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings as SandboxSettings
from flows.process.application import open_app
from flows.process.environment import environment
from ingest_core.bootstrap import App, prepare_demo_database
from ingest_core.model.errors import BadInput, PatraError
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.model.naming import counted
from ingest_core.model.stored_item import ItemChoice
from ingest_core.settings import Settings, load_settings

SOURCE = "crossref"
SLICE_RECORDS = "2000"
"""Small slices, so that there is something to see."""
LAG = timedelta(minutes=10)
STEP = timedelta(hours=6)
FIRST_HARVEST = timedelta(days=8)
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class DemoOptions:
    """What kind of demo."""

    works: int
    seed: int
    keep: bool


class DemoFailed(PatraError):
    """A flow of the demo did not end well."""


def run_demo(options: DemoOptions, console: Console, *, quiet: bool = False) -> dict[str, Any]:
    """Harvest, move the clock on, harvest again; what happened, checked against the provider's truth."""
    started = time.monotonic()
    settings = _prepare(options)

    def say(text: str) -> None:
        if not quiet:
            console.print(text, markup=False)

    corpus = SandboxSettings(seed=options.seed, works=options.works)
    say(f"starting a simulated Crossref with {counted(options.works, 'work')}")
    with running(corpus) as sandbox, environment(_wanted(settings, sandbox)), open_app() as app:
        ends = _round_ends(app, corpus)
        before = {"stored": app.items.count(ItemChoice(SOURCE)), "quarantined": len(_quarantined(app))}
        say("starting a private Prefect")
        _start_prefect()
        rounds = [
            _harvest(app, sandbox, corpus, number, end, None if quiet else console)
            for number, end in enumerate(ends, start=1)
        ]
        check = _check(app, sandbox, corpus, rounds[-1])
        example = _stored_record(app)
        shown_database = app.database.shown_url
    return {
        "rounds": rounds,
        "before": before,
        "check": check,
        "example": example,
        "complete": check["items_right"] == check["usable"] and check["quarantined_right"] == check["unusable"],
        "database": shown_database,
        "seconds": round(time.monotonic() - started, 1),
    }


def _prepare(options: DemoOptions) -> Settings:
    """A database with nothing but the demo in it."""
    settings = load_settings()
    settings.home.mkdir(parents=True, exist_ok=True)
    url = settings.database_url or f"sqlite:///{(settings.home / 'demo.db').absolute()}"
    settings = Settings(home=settings.home, database_url=url, lease_ttl_seconds=settings.lease_ttl_seconds)
    prepare_demo_database(settings, keep=options.keep)
    return settings


def _wanted(settings: Settings, sandbox: Sandbox) -> dict[str, str]:
    """What the flows read: the demo's database and upstream, and a Prefect of its own that reports nothing."""
    return {
        "PATRA_DATABASE_URL": settings.effective_database_url,
        f"PATRA_UPSTREAM_{SOURCE.upper()}": sandbox.url(SOURCE),
        "PREFECT_HOME": str(Path(settings.home).absolute() / "prefect"),
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "DO_NOT_TRACK": "1",
    }


def _start_prefect() -> None:
    """Start the private server, so that its start is in no harvest's time."""
    # Prefect reads its settings when it is imported: the environment must be set by then.
    from prefect.client.orchestration import get_client  # noqa: PLC0415

    with get_client(sync_client=True) as client:
        client.hello()


def _watermark(app: App) -> datetime | None:
    values = [one.value for one in app.cursors.cursors() if one.namespace.partition.provenance_code == SOURCE]
    return parse_instant(values[0]) if values else None


def _round_ends(app: App, corpus: SandboxSettings) -> list[datetime]:
    """How far each harvest goes: a long one and a short one, or, going on, a short one."""
    watermark = _watermark(app)
    if watermark is None:
        first = corpus.until - timedelta(days=corpus.days) + FIRST_HARVEST
        return [first, first + STEP]
    if watermark + STEP > corpus.until:
        raise BadInput(
            "DEMO_AT_ITS_END",
            f"the simulated provider has nothing after {format_instant(corpus.until)}",
            where="demo",
            remedy="run patra demo without --keep",
        )
    return [watermark + STEP]


def _harvest(
    app: App, sandbox: Sandbox, corpus: SandboxSettings, number: int, end: datetime, console: Console | None
) -> dict[str, Any]:
    """Move the clock, plan, execute."""
    from flows.executor import executor  # noqa: PLC0415 - after the environment, as Prefect above
    from flows.parameters import ExecuteParameters, PlanParameters  # noqa: PLC0415 - the same
    from flows.planner import planner  # noqa: PLC0415 - the same

    started = time.monotonic()
    before, known = _watermark(app), _quarantined(app)
    now = end + LAG
    sandbox.move_clock(format_instant(now))
    start = None if before else corpus.until - timedelta(days=corpus.days)
    try:
        overrides = {"slicing.target_records": SLICE_RECORDS}
        plan = planner(PlanParameters(source=SOURCE, window_from=start, now=now, overrides=overrides))
        with _progress(app, plan["plan_id"], f"harvest {number}", console):
            done = executor(
                ExecuteParameters(source=SOURCE, until_idle=True, at_once=1)
            )  # the same seed, the same rows
    except PatraError:
        raise
    except Exception as error:
        raise DemoFailed("DEMO_FAILED", str(error), where=f"harvest {number}") from error
    after = _watermark(app)
    return {
        "title": f"harvest {number}" if before is None or number > 1 else "harvest, going on",
        "now": format_instant(now),
        "window": plan["window"],
        "slices": plan["slices"],
        "tasks": plan["tasks_created"],
        "pages": done["batches"],
        "requests": done["requests"],
        "records": done["records"],
        "quarantined_again": done["records"]["quarantined"] - len(_quarantined(app) - known),
        "watermark": {
            "before": format_instant(before) if before else None,
            "after": format_instant(after) if after else None,
        },
        "seconds": round(time.monotonic() - started, 1),
    }


@contextmanager
def _progress(app: App, plan_id: int, title: str, console: Console | None) -> Iterator[None]:
    """A bar that follows the plan's tasks in the database."""
    if console is None:
        yield
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("slices, {task.fields[records]:,} records"),
        TimeElapsedColumn(),
    )
    done = threading.Event()
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(title, total=None, records=0)

        def look() -> None:
            state = app.readside.plan_progress(plan_id)
            progress.update(bar, total=state.tasks, completed=state.ended, records=state.records)

        def follow() -> None:
            while not done.wait(_POLL_SECONDS):
                look()

        follower = threading.Thread(target=follow, name="progress", daemon=True)
        follower.start()
        try:
            yield
        finally:
            done.set()
            follower.join()
            look()


def _quarantined(app: App) -> set[str]:
    """The ids of the records in quarantine."""
    return {row["provider_id"] for page in app.quarantine.stream(SOURCE) for row in page}


def _stored_record(app: App) -> dict[str, Any] | None:
    """One stored record with a title and authors, as an example; else any; None where nothing is stored."""
    first = next(app.items.pages(ItemChoice(SOURCE)), [])
    whole = (one for one in first if one.record.get("title") and one.record.get("authors"))
    chosen = next(whole, first[0] if first else None)
    if chosen is None:
        return None
    return {"id": chosen.provider_id, "updated_at": format_instant(chosen.source_updated_at), "record": chosen.record}


def _check(app: App, sandbox: Sandbox, corpus: SandboxSettings, last: dict[str, Any]) -> dict[str, int]:
    """Compare the stored records with the provider's: those that the harvests had to read, and what they read beyond.

    The provider filters by whole days: a page may hold records that were updated after the end of the window.
    """
    start, end = corpus.until - timedelta(days=corpus.days), parse_instant(last["window"]["to"])
    truth = {row["id"]: row for row in sandbox.truth(SOURCE, from_=format_instant(start))}
    updated = {id_: parse_instant(row["updated_at"]) for id_, row in truth.items()}
    items = app.readside.item_versions(SOURCE, start, corpus.until)
    right = {id_ for id_, version in items.items() if updated.get(id_) == version}
    set_aside = _quarantined(app)
    usable = {id_ for id_, row in truth.items() if row["usable"] and (updated[id_] < end or id_ in right)}
    unusable = {id_ for id_, row in truth.items() if not row["usable"] and (updated[id_] < end or id_ in set_aside)}
    return {
        "stored": len(items),
        "usable": len(usable),
        "items_right": len(usable & right),
        "quarantined": len(set_aside),
        "unusable": len(unusable),
        "quarantined_right": len(unusable & set_aside),
    }
