"""`patra demo`: a harvest from nothing, through real Prefect flows."""

from typing import Annotated, Any

import typer

from flows.cli.help import CommandTree, Heading
from flows.cli.screen import AsJson, console, errors, print_json, print_table, shown_instant
from ingest_core.model.errors import ExitCode
from ingest_core.model.whole_number import LARGEST_COUNT


def register(app: CommandTree) -> None:
    """Hang this command into the tree."""
    app.command("demo", rich_help_panel=Heading.TRY, epilog="Example: patra demo --works 20000 --seed 7")(demo)


def demo(
    works: Annotated[
        int, typer.Option(min=1, max=5_000_000, metavar="N", help="Number of works the simulated provider has.")
    ] = 5000,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=LARGEST_COUNT,
            metavar="N",
            help="Seed of the simulated data; the same seed gives the same works.",
        ),
    ] = 1,
    *,
    keep: Annotated[bool, typer.Option("--keep", help="Continue with the last demo's database.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run harvests against a simulated Crossref and check the result."""
    from flows.demo import DemoOptions, run_demo  # noqa: PLC0415 - the sandbox takes time to load

    summary = run_demo(DemoOptions(works, seed, keep), errors, quiet=as_json)
    if as_json:
        print_json(summary)
    else:
        _show(summary)
    if not summary["complete"]:
        raise typer.Exit(ExitCode.FAILED)


def _show(summary: dict[str, Any]) -> None:
    rounds = summary["rounds"]
    rows = [(name, *(_cell(entry, key) for entry in rounds)) for name, key in _ROWS]
    print_table("what happened", ("", *(entry["title"] for entry in rounds)), rows)
    check = summary["check"]
    state = "complete" if summary["complete"] else "INCOMPLETE"
    console.print(
        f"{state}: {check['items_right']} of {check['usable']} usable records of the provider are stored in their "
        f"latest version, {check['quarantined_right']} of {check['unusable']} unusable ones are in quarantine"
    )
    console.print(f"database: {summary['database']}")
    console.print(f"wall time: {summary['seconds']} s")


_ROWS = (
    ("window from", "window.from"),
    ("window to", "window.to"),
    ("slices", "slices"),
    ("tasks", "tasks"),
    ("pages", "pages"),
    ("records inserted", "records.inserted"),
    ("records updated", "records.updated"),
    ("records skipped", "records.skipped"),
    ("records gone", "records.gone"),
    ("records quarantined", "records.quarantined"),
    ("watermark before", "watermark.before"),
    ("watermark after", "watermark.after"),
    ("seconds", "seconds"),
)


def _cell(entry: dict[str, Any], path: str) -> Any:
    value: Any = entry
    for part in path.split("."):
        value = value[part]
    if value is None:
        return "-"
    return shown_instant(value) if path.startswith(("window", "watermark")) else value
