"""`patra demo`: a harvest from nothing, through real Prefect flows."""

import os
from typing import Annotated, Any

import typer

from flows.cli.help import CommandTree, Heading
from flows.cli.room import own_name
from flows.cli.screen import AsJson, console, errors, print_facts, print_json, print_table, shown_instant
from flows.text.record import record_facts
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
    rounds, check = summary["rounds"], summary["check"]
    titles = [entry["title"] for entry in rounds]
    console.print()
    rows = [(name, *(_cell(entry, key) for entry in rounds)) for name, key in _ROWS]
    print_table("harvests", ("", *titles), rows)
    console.print()
    counts = [_counts(entry) for entry in rounds]
    records = [(name, *(f"{number:,}" for number in _with_total([one[name] for one in counts]))) for name in counts[0]]
    print_table("records received", ("", *titles, "total")[: len(records[0])], records)
    console.print()
    _show_check(check, summary["before"])
    if summary["example"]:
        console.print()
        example = summary["example"]
        facts = {
            "id": example["id"],
            "updated": shown_instant(example["updated_at"]),
            **dict(record_facts(example["record"])),
        }
        print_facts("one stored record", facts.items())
    console.print()
    state = "complete" if summary["complete"] else "INCOMPLETE"
    console.print(
        f"{state}: {check['items_right']:,} of {check['usable']:,} usable records of the provider are stored in their "
        f"latest version, {check['quarantined_right']:,} of {check['unusable']:,} unusable ones are in quarantine. "
        f"It took {summary['seconds']} s."
    )
    console.print()
    _show_next(summary["database"])


def _counts(entry: dict[str, Any]) -> dict[str, int]:
    """The records of one harvest: each is in one row, and the rows below the first make it up."""
    records, again = entry["records"], entry["quarantined_again"]
    return {
        "received": records["received"],
        "inserted": records["inserted"],
        "updated": records["updated"],
        "skipped, as stored": records["skipped"],
        "gone": records["gone"],
        "quarantined": records["quarantined"] - again,
        "quarantined again": again,
    }


def _with_total(numbers: list[int]) -> list[int]:
    return [*numbers, sum(numbers)] if len(numbers) > 1 else numbers


def _show_check(check: dict[str, int], before: dict[str, int]) -> None:
    """What is stored, next to what the provider has; the numbers are the totals above, and what was there before."""
    earlier, usable_since = check["stored"] - check["items_right"], check["quarantined"] - check["quarantined_right"]
    columns = {
        "": ("stored", "quarantined"),
        "records": (check["stored"], check["quarantined"]),
        "before the demo": (before["stored"], before["quarantined"]),
        "as the provider has them": (check["items_right"], check["quarantined_right"]),
        "in an earlier version": (earlier, usable_since),
    }
    shown = {name: column for name, column in columns.items() if any(column)}
    rows = (
        tuple(one if isinstance(one, str) else f"{one:,}" for one in row) for row in zip(*shown.values(), strict=True)
    )
    print_table("afterwards", list(shown), rows)


def _show_next(database: str) -> None:
    patra = own_name()
    if "PATRA_DATABASE_URL" not in os.environ:
        console.print("the commands below read the demo's database after:")
        console.print(f"  export PATRA_DATABASE_URL={database}", soft_wrap=True)
    print_facts("try next", ((f"{patra} {command}", does) for command, does in _NEXT))


_NEXT = (
    ("status", "tasks by state"),
    ("quarantine list", "rejected records by reason"),
    ("cursor timeline crossref", "how the watermark moved"),
    ("items export crossref", "the records"),
    ("demo --keep", "harvest six more hours"),
    ("up", "the Prefect UI and twelve providers"),
)

_ROWS = (
    ("window from", "window.from"),
    ("window to", "window.to"),
    ("slices", "slices"),
    ("pages", "pages"),
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
