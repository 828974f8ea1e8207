"""`patra cursor`: watermarks, their events, and their repair."""

import getpass
import os
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any, TypeVar

import typer
from pydantic import TypeAdapter, ValidationError
from rich.progress import track

from flows.cli.help import CommandTree, Heading
from flows.cli.screen import AsJson, console, errors, on_terminal, print_facts, print_json, print_table, shown_instant
from flows.process.application import open_app
from flows.text.wording import spelled
from ingest_core.bootstrap import App
from ingest_core.cursor.adoption import Adoption
from ingest_core.cursor.choice import heir_of, one_of
from ingest_core.cursor.rebuild import CursorVerdict, Rebuilt, applied
from ingest_core.model.codes import CursorType, Operation
from ingest_core.model.cursor_report import BlockingTask, CursorReport, CursorStep, Span
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.model.namespace import Namespace
from ingest_core.model.naming import counted, span_name
from ingest_core.model.partition import Partition
from ingest_core.model.whole_number import LARGEST_COUNT

cursor_app = CommandTree(help="Show and repair watermarks.")

SourceArgument = Annotated[str, typer.Argument(help="Code of the source, such as crossref.", show_default=False)]
OptionalSource = Annotated[str | None, typer.Argument(help="Only this source.", show_default=False)]
Endpoint = Annotated[str | None, typer.Option(metavar="NAME", help="Only this endpoint.")]
OnlyOperation = Annotated[Operation | None, typer.Option(case_sensitive=False, help="Only this operation.")]
Prefix = Annotated[
    str | None, typer.Option("--namespace", metavar="KEY", help="Only the namespace whose key begins so.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]

_LINEAGE = {"schedule_instance_id": "trigger"}

KEY_LENGTH = 64
SHOWN_KEY = 12
T = TypeVar("T")


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    cursor_app.command("list", epilog="Example: patra cursor list --json")(cursor_list)
    cursor_app.command("show", epilog="Example: patra cursor show crossref --operation HARVEST")(cursor_show)
    cursor_app.command("timeline", epilog="Example: patra cursor timeline crossref --since 2026-01-01")(cursor_timeline)
    cursor_app.command("rebuild", epilog="Example: patra cursor rebuild crossref --apply")(cursor_rebuild)
    example = 'Example: patra cursor adopt --from 1c62993d --to 9f04b1c2 --reason "wider query"'
    cursor_app.command("adopt", epilog=example)(cursor_adopt)
    cursor_app.command("compact", epilog="Example: patra cursor compact crossref --older-than P90D")(cursor_compact)
    app.add_typer(cursor_app, name="cursor", rich_help_panel=Heading.CONTROL)


def cursor_list(*, as_json: AsJson = False) -> None:
    """List all watermarks."""
    with open_app() as app:
        entries = app.cursors.cursors()
    if as_json:
        print_json([entry.json() for entry in entries])
        return
    columns = ("source", "operation", "namespace", "query or campaign", "watermark")
    rows = (
        (
            _place(entry.namespace.partition),
            entry.namespace.partition.operation_code.value,
            entry.namespace.key[:SHOWN_KEY],
            entry.campaign or entry.query or "-",
            _shown(entry.namespace.cursor_type, entry.value),
        )
        for entry in entries
    )
    print_table("watermarks", columns, rows)


def _place(partition: Partition) -> str:
    return f"{partition.provenance_code}.{partition.endpoint_name}"


def _shown(kind: str, value: str | None) -> str:
    return shown_instant(value) if kind == CursorType.TIME else value or "-"


def cursor_show(
    source: SourceArgument,
    endpoint: Endpoint = None,
    operation: OnlyOperation = None,
    namespace: Prefix = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show watermarks, what moved them last, and what they wait for."""
    with open_app() as app:
        found = _found(app, source, endpoint, operation, namespace)
        entries = [app.cursor_reports.show(one) for one in found]
    if as_json:
        print_json([entry.json() for entry in entries])
        return
    for entry in entries:
        _show_cursor(entry)


def _found(
    app: App, source: str, endpoint: str | None, operation: Operation | None, namespace: str | None
) -> list[Namespace]:
    app.registry.rows(source)
    found = app.cursor_reports.find(source, endpoint, operation, namespace)
    if not found:
        one_of(found, _asked(source, endpoint, operation, namespace))
    return found


def _asked(source: str, *narrower: str | None) -> str:
    return " ".join(filter(None, [source, *narrower]))


def _show_cursor(report: CursorReport) -> None:
    entry, namespace = report.entry, report.entry.namespace
    kind = namespace.cursor_type
    holes = ", ".join(f"{_shown(kind, one.start)} .. {_shown(kind, one.end)}" for one in report.holes)
    moved = ", ".join(f"{name} {number}" for name, number in _lineage(report.moved_by))
    rows = [
        ("watermark", _shown(kind, entry.value)),
        ("type", f"{kind}, {namespace.direction}{', newest first' if report.newest_first else ''}"),
        ("began at", _shown(kind, report.anchor)),
        ("settled up to", _at(report.settled) if report.settled else "-"),
        ("behind now", _spelled(report.behind_seconds)),
        ("newest record seen", shown_instant(entry.observed_max)),
        ("query", entry.query or "-"),
        ("campaign", entry.campaign or "-"),
        ("last moved", f"{_at(report.moved_at)}, by {moved or '-'}"),
        ("events", ", ".join(f"{number} {name}" for name, number in report.events.items() if number) or "none"),
        ("furthest event", _shown(kind, report.furthest)),
        ("holes", holes or "none"),
        ("waits for", _blocker(report.blocked_by)),
    ]
    print_facts(f"{_place(namespace.partition)} {namespace.partition.operation_code} {namespace.key[:SHOWN_KEY]}", rows)


def _at(moment: datetime) -> str:
    return shown_instant(format_instant(moment))


def _lineage(found: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    return (
        (_LINEAGE.get(name, name.removesuffix("_id")), number)
        for name, number in found.items()
        if name.endswith("_id") and number
    )


def _blocker(task: BlockingTask | None) -> str:
    if task is None:
        return "no planned task"
    error = task.last_error or {}
    said = f": {error.get('code')} {error.get('message', '')}".rstrip() if error else ""
    window = f"{_at(task.start)} .. {_at(task.end)}"
    return f"task {task.task_id} (plan {task.plan_id}, slice {task.slice_no}) {task.status}, {window}{said}"


def _spelled(seconds: int | None) -> str:
    """A length of time, in whole minutes where it is a day or more."""
    if seconds is None:
        return "-"
    days, rest = divmod(seconds, 86_400)
    return f"{counted(days, 'day')} {spelled(rest // 60 * 60)}" if days else spelled(rest)


def cursor_timeline(
    source: SourceArgument,
    endpoint: Endpoint = None,
    operation: OnlyOperation = None,
    namespace: Prefix = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only events written since then (UTC).")] = None,
    limit: Annotated[int, typer.Option(min=1, max=LARGEST_COUNT, help="Maximum number of rows, newest first.")] = 100,
    *,
    as_json: AsJson = False,
) -> None:
    """Show the events of a cursor in order, and the value after each."""
    moment = parse_instant(since, "--since") if since else None
    with open_app() as app:
        found = _found(app, source, endpoint, operation, namespace)
        chosen = one_of(found, _asked(source, endpoint, operation, namespace))
        events = app.cursor_reports.timeline(chosen, moment, limit)
    if as_json:
        print_json([event.json() for event in events])
        return
    kind = chosen.cursor_type
    columns = ("id", "written", "type", "covered (UTC)", "watermark", "by")
    print_table(
        f"timeline of {chosen.partition} {chosen.key[:SHOWN_KEY]}", columns, (_step(kind, one) for one in events)
    )


def _step(kind: CursorType, event: CursorStep) -> tuple[Any, ...]:
    by = ", ".join(f"{name} {number}" for name, number in _lineage(event.lineage))
    return (
        event.event_id,
        _at(event.at),
        event.event_type,
        _covered(kind, event.covered) if event.covered else "-",
        "no-forward" if event.no_forward else _shown(kind, event.after),
        by,
    )


def _covered(kind: CursorType, part: Span) -> str:
    if kind != CursorType.TIME:
        return f"{part.start} .. {part.end}"
    return span_name(parse_instant(part.start), parse_instant(part.end))


def cursor_rebuild(
    source: OptionalSource = None,
    endpoint: Endpoint = None,
    operation: OnlyOperation = None,
    namespace: Prefix = None,
    *,
    apply: Annotated[
        bool, typer.Option("--apply", help="Move watermarks that are behind their events forward.")
    ] = False,
    put_back: Annotated[
        bool, typer.Option("--set-back", help="Put watermarks that are ahead of their events back; needs --reason.")
    ] = False,
    reason: Annotated[str | None, typer.Option(help="Why watermarks are put back; stored with the event.")] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Compare watermarks with their events, and repair them."""
    if put_back and not (reason and reason.strip()):
        remedy = 'give a reason: --reason "planned with --now 2030"'
        raise BadInput("REASON_MISSING", "putting a cursor back needs a reason", where="--set-back", remedy=remedy)
    with open_app() as app:
        if source is not None:
            app.registry.rows(source)
        asked = (source, endpoint, operation, namespace)
        found = [*app.cursor_reports.find(*asked), *app.cursor_reports.lost(*asked)]
        results = [app.cursor_reports.rebuild(one) for one in _watched(found, "rebuilding", show=not as_json)]
        if not as_json:
            _show_rebuilt(results)
        sure = yes or as_json
        if apply:
            results = _changed(
                results, {CursorVerdict.BEHIND, CursorVerdict.LOST}, "Move {} forward?", partial(_repair, app), sure
            )
        if put_back and reason:
            change = partial(_set_back, app, reason)
            results = _changed(results, {CursorVerdict.AHEAD}, "Put {} back to the end of their events?", change, sure)
        if not as_json and any(one.applied for one in results):
            _show_rebuilt([one for one in results if one.applied])
    if as_json:
        print_json([one.json() for one in results])
    if not all(one.agrees for one in results):
        raise typer.Exit(ExitCode.FAILED)


def _changed(
    results: list[Rebuilt],
    which: set[CursorVerdict],
    question: str,
    change: Callable[[Rebuilt], Rebuilt],
    sure: bool,
) -> list[Rebuilt]:
    """The results, with those of such a verdict changed if the operator agrees."""
    wrong = [one for one in results if one.verdict in which]
    if not wrong:
        return results
    _confirm(question.format(len(wrong)), yes=sure)
    return [change(one) if one in wrong else one for one in results]


def _repair(app: App, found: Rebuilt) -> Rebuilt:
    if found.verdict == CursorVerdict.LOST:
        app.cursors.restore(found.namespace)
    app.cursors.advance(found.namespace)
    return applied(found, app.cursor_reports.rebuild(found.namespace))


def _set_back(app: App, reason: str, found: Rebuilt) -> Rebuilt:
    """Put a value back, from where it was shown to stand; one that has moved meanwhile is left alone."""
    assert found.stored is not None
    done = app.cursors.set_back(found.namespace, found.stored, reason=reason.strip(), by=_who())
    after = app.cursor_reports.rebuild(found.namespace)
    return applied(found, after) if done else after


def _show_rebuilt(results: list[Rebuilt]) -> None:
    columns = ("source", "namespace", "verdict", "stored", "from events", "explanation")
    rows = (
        (
            one.namespace.partition,
            one.namespace.key[:SHOWN_KEY],
            "moved" if one.applied and one.agrees else one.verdict,
            _shown(one.namespace.cursor_type, one.stored),
            _shown(one.namespace.cursor_type, one.rebuilt),
            "; ".join([*([one.why] if one.why else []), *_lacks(one)]) or "-",
        )
        for one in results
    )
    print_table("rebuilt from events", columns, rows)


def _lacks(one: Rebuilt) -> list[str]:
    return [_lack(one.namespace.cursor_type, lack) for lack in one.missing]


def _lack(kind: str, lack: dict[str, Any]) -> str:
    window = f" of {_shown(kind, lack['from'])} .. {_shown(kind, lack['to'])}" if "from" in lack else ""
    if "task_id" in lack:
        return f"{lack['event']}{window}, task {lack['task_id']} (plan {lack['plan_id']})"
    return f"{lack['event'] or 'an event that no finished task explains,'}{window}"


def cursor_adopt(
    from_: Annotated[
        str,
        typer.Option(
            "--from", metavar="KEY", help="Namespace to take the watermark from: [SOURCE:]beginning of its key."
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="KEY", help="Namespace that continues there; a whole key if it has no cursor yet."
        ),
    ],
    reason: Annotated[str | None, typer.Option(help="Reason; stored with the event.")] = None,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Continue a namespace at the watermark of another (forward only)."""
    with open_app() as app:
        source = _named(app, from_, "--from")
        target = _target(app, to, source)
        proposal = app.cursor_adoption.propose(source, target)
        if not as_json:
            _show_adoption(proposal)
            if not proposal.done:
                _confirm("Adopt?", yes=yes)
        adoption = app.cursor_adoption.adopt(source, target, reason=reason, by=_who())
    if as_json:
        print_json(adoption.json())


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in containers
        return f"user {os.getuid()}"


def _named(app: App, text: str, option: str) -> Namespace:
    """The namespace of a name such as `crossref:1c62`, or `1c62` where that is enough."""
    source, _, prefix = text.rpartition(":")
    return one_of(app.cursor_reports.find(source or None, namespace=prefix), f"{option} {text}")


def _target(app: App, text: str, source: Namespace) -> Namespace:
    """The namespace that is named; the same key may be another source's too, so this one's goes first."""
    code, _, key = text.rpartition(":")
    own = source.partition.provenance_code
    found = app.cursor_reports.find(code or own, namespace=key)
    if not found and not code:
        found = app.cursor_reports.find(namespace=key)
    if not found and len(key) == KEY_LENGTH and code in ("", own):
        return heir_of(source, key)
    return one_of(found, f"--to {text}")


def _show_adoption(adoption: Adoption) -> None:
    if adoption.done:
        console.print(f"nothing to do: {adoption.target.key[:SHOWN_KEY]} stands at {adoption.before}", markup=False)
        return
    kind = adoption.target.cursor_type
    before = _shown(kind, adoption.before) if adoption.before else "not begun"
    title = f"{adoption.target.partition} {adoption.target.key[:SHOWN_KEY]}"
    print_facts(
        title, [("adopts", adoption.source.key[:SHOWN_KEY]), ("value", f"{before} -> {_shown(kind, adoption.after)}")]
    )


def cursor_compact(
    source: OptionalSource = None,
    older_than: Annotated[str, typer.Option(metavar="DURATION", help="Only events older than this.")] = "P90D",
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Merge old events that no plan needs; watermarks do not change."""
    age = _duration(older_than)
    with open_app() as app:
        if source is not None:
            app.registry.rows(source)
        found = app.cursor_reports.find(source)
        if not as_json:
            pending = sum(app.cursor_compaction.count(one, age) for one in found)
            console.print(f"{counted(pending, 'event')} can be compacted")
            if not pending:
                return
            _confirm("Compact?", yes=yes)
        watched = _watched(found, "compacting", show=not as_json)
        counts = {one: app.cursor_compaction.compact(one, age) for one in watched}
    if as_json:
        entries = (
            {"partition": str(one.partition), "namespace_key": one.key, "events": n} for one, n in counts.items()
        )
        print_json({"events": sum(counts.values()), "cursors": [entry for entry in entries if entry["events"]]})
    else:
        console.print(f"{counted(sum(counts.values()), 'event')} compacted")


def _duration(text: str) -> timedelta:
    try:
        span = TypeAdapter(timedelta).validate_python(text)
    except ValidationError:
        span = timedelta(-1)
    if span < timedelta(0):
        remedy = "write it as P90D or PT12H"
        raise BadInput("DURATION_INVALID", f"{text!r} is not a duration", where="--older-than", remedy=remedy)
    return span


def _watched(found: list[T], what: str, *, show: bool) -> Iterable[T]:
    """The same, with a bar on a terminal."""
    return track(found, what, console=errors, transient=True) if show and on_terminal() else found


def _confirm(question: str, *, yes: bool) -> None:
    if not yes and on_terminal() and not typer.confirm(question):
        raise typer.Abort
