"""Planning from the command line: explained, tried dry, resumed, paused and refused."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from deployments.sandbox.remote import Sandbox
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_partition_control, metadata
from tests.support.patra import Patra, Row

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

NOW = "2026-01-07T06:34:56Z"
CLOCK = ("--now", NOW)
HARVESTED = ("--from", "2026-01-05", "--to", "2026-01-06", *CLOCK)
BEFORE = ("--from", "2026-01-01", "--to", "2026-01-05", *CLOCK)
BACKFILL = ("plan", "crossref", "--operation", "BACKFILL", *BEFORE)
BY_STEP = {"max_window": "PT6H"}
"""No slice is longer than a step, however little it holds."""

PLAN_KEYS = {
    "plan_id", "plan_key", "operation", "status", "reason", "window", "slices", "slices_existing", "tasks_created",
    "tasks_existing", "expected_requests", "warnings", "notes", "campaign", "strategy", "sizes", "stock",
    "weak_ends", "dry_run", "resliced", "ids",
}  # fmt: skip
SIZE_KEYS = {
    "estimated_records", "expected_requests", "expected_seconds", "smallest", "largest", "methods", "timeline", "shown",
    "failure",
}  # fmt: skip


def told(patra: Patra, *arguments: str) -> str:
    """What the command prints for people, as a process of its own."""
    command = [sys.executable, "-m", "flows.cli", *arguments]
    environment = {**os.environ, **patra.environment, "COLUMNS": "200"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def contents(patra: Patra, *besides: str) -> dict[str, list[str]]:
    """Every row of every table."""
    database = Database(patra.environment["PATRA_DATABASE_URL"])
    try:
        with database.read() as connection:
            return {
                name: sorted(str(tuple(row)) for row in connection.execute(sa.select(table)))
                for name, table in metadata.tables.items()
                if name not in besides
            }
    finally:
        database.close()


def pause(patra: Patra, operation: str, state: str = "PAUSED") -> None:
    """Stop a partition of Crossref by SQL, as nothing else does yet."""
    database = Database(patra.environment["PATRA_DATABASE_URL"])
    partition = {"provenance_code": "crossref", "endpoint_name": "works", "operation_code": operation}
    try:
        with database.write() as connection:
            stamps = {"created_at": database.now(connection), "updated_at": database.now(connection)}
            table = ing_partition_control
            connection.execute(sa.delete(table).where(table.c.operation_code == operation))
            reason = {"control_code": state, "reason": "the provider is moving"}
            connection.execute(sa.insert(table).values(**partition, **reason, **stamps))
    finally:
        database.close()


def steps_of(report: Row) -> dict[str, list[Any]]:
    """Each name's values, in the order they were set."""
    values: dict[str, list[Any]] = {}
    for step in report["steps"]:
        values.setdefault(step["step"], []).append(step["value"])
    return values


def watermarks(patra: Patra) -> dict[str, str]:
    """The value of each operation's cursor."""
    return {entry["operation"]: entry["value"] for entry in patra("cursor", "list")}


def slice_windows(patra: Patra, plan_id: int) -> list[tuple[str, str]]:
    """What the slices of a plan own, in their order."""
    rows = patra.rows("ing_plan_slice", where=f"plan_id = {plan_id}")
    windows = [row["slice_spec"]["window"] for row in rows]
    return [(window["from"], window["to"]) for window in windows]


class TestExplainWindow:
    """`patra explain window`: the arithmetic, line by line."""

    def test_a_first_harvest_is_explained_and_nothing_is_written(self, patra: Patra, quiet_sandbox: Sandbox) -> None:
        before = contents(patra)
        report = patra("explain", "window", "crossref", *CLOCK)
        values = steps_of(report)

        assert report["window"] == {"from": "2026-01-06T06:00:00.000000Z", "to": "2026-01-07T06:00:00.000000Z"}
        assert (report["source"], report["endpoint"], report["operation"]) == ("crossref", "works", "HARVEST")
        assert (report["empty"], report["reason"], report["campaign"]) == (False, None, None)
        assert values["lag"] == ["PT10M"]
        assert values["now_safe"] == ["2026-01-07T06:24:56.000000Z", "2026-01-07T06:00:00.000000Z"]
        assert (values["watermark"], values["user.from"]) == ([None], [None])
        assert (values["from"][-1], values["to"][-1]) == (report["window"]["from"], report["window"]["to"])
        assert (contents(patra), quiet_sandbox.requests()) == (before, [])

    def test_a_later_harvest_looks_back_but_not_below_its_anchor(self, patra: Patra) -> None:
        patra("plan", "crossref", *HARVESTED)
        patra("execute")
        report = patra("explain", "window", "crossref", *CLOCK)
        values = steps_of(report)

        assert values["watermark"] == ["2026-01-06T00:00:00.000000Z"]
        assert values["lower"] == ["2026-01-05T22:00:00.000000Z"]
        assert values["anchor"] == ["2026-01-05T00:00:00.000000Z"]
        assert report["window"] == {"from": "2026-01-05T22:00:00.000000Z", "to": "2026-01-07T06:00:00.000000Z"}

    def test_a_backfill_ends_at_the_harvests_watermark(self, patra: Patra) -> None:
        patra("plan", "crossref", *HARVESTED)
        patra("execute")
        late = ("--from", "2026-01-01", "--to", "2026-01-07")
        report = patra("explain", "window", "crossref", "--operation", "BACKFILL", *late, *CLOCK)

        assert steps_of(report)["forward"] == ["2026-01-06T00:00:00.000000Z"]
        assert report["window"] == {"from": "2026-01-01T00:00:00.000000Z", "to": "2026-01-06T00:00:00.000000Z"}
        assert report["campaign"] == "crossref-works-2026-01-01-2026-01-07"

    def test_a_refresh_by_id_is_paced_by_a_day(self, patra: Patra) -> None:
        report = patra("explain", "window", "pubmed", "--operation", "UPDATE", *CLOCK)

        assert (report["endpoint"], report["empty"]) == ("fetch", False)
        assert report["window"] == {"from": "2026-01-06T06:24:56.000000Z", "to": "2026-01-07T06:24:56.000000Z"}

    def test_a_refresh_by_time_has_its_own_watermark(self, patra: Patra) -> None:
        refreshing(patra)
        patra("plan", "crossref", *HARVESTED)
        patra("execute")
        report = patra("explain", "window", "crossref", "--operation", "UPDATE", "--from", "2026-01-02", *CLOCK)

        assert steps_of(report)["watermark"] == [None]
        assert report["window"] == {"from": "2026-01-02T00:00:00.000000Z", "to": "2026-01-07T06:00:00.000000Z"}

    def test_people_read_formulas_values_and_reasons(self, patra: Patra) -> None:
        printed = told(patra, "explain", "window", "crossref", "--to", "2026-01-07", *CLOCK)
        lines = [" ".join(line.split()) for line in printed.splitlines()]
        visible, filtered = "time a record may need to become visible", "the provider filters by it"

        assert lines[0] == "crossref.works HARVEST"
        shown = " ".join(lines)
        assert "lag PT10M configured 600 s" in lines
        assert "watermark none how far this harvest has read without a hole" in shown
        assert f"now_safe 2026-01-07 06:24:56 UTC now - lag: {visible}" in shown
        assert f"now_safe 2026-01-07 06:00 UTC start of the HOUR (UTC) that holds now_safe: {filtered}" in shown
        assert "to 2026-01-07 00:00 UTC min(user.to, now_safe): not beyond the requested bound" in shown
        assert lines[-1] == "window: 2026-01-06 06:00 UTC .. 2026-01-07 00:00 UTC"

    def test_a_window_that_is_empty_is_explained_with_its_reason(self, patra: Patra) -> None:
        asked = ("crossref", "--from", "2026-01-08", *CLOCK)
        report = patra("explain", "window", *asked)
        printed = told(patra, "explain", "window", *asked)

        assert (report["empty"], report["reason"].startswith("nothing to harvest yet")) == (True, True)
        assert printed.splitlines()[-1] == f"no window: {report['reason']}"


def refreshing(patra: Patra) -> None:
    """Let Crossref serve UPDATE too; it cannot be asked by id."""
    file = patra.quick_file("crossref", window=BY_STEP)
    text = file.read_text(encoding="utf-8")
    assert "- BACKFILL\n" in text
    file.write_text(text.replace("- BACKFILL\n", "- BACKFILL\n  - UPDATE\n", 1), encoding="utf-8")
    patra("registry", "apply", str(file))


class TestDryRun:
    """`patra plan --dry-run`: what would be planned."""

    def test_it_shows_the_plan_and_writes_nothing(self, patra: Patra, quiet_sandbox: Sandbox) -> None:
        before = contents(patra)
        report = patra(*BACKFILL, "--dry-run")

        assert contents(patra) == before
        assert quiet_sandbox.requests() == []
        assert (set(report), set(report["sizes"])) == (PLAN_KEYS, SIZE_KEYS)
        assert (report["plan_id"], report["dry_run"], report["status"]) == (None, True, "DRAFT")
        assert (report["slices"], report["sizes"]["methods"]) == (16, {"CONSTANT": 16})
        assert (report["strategy"], report["campaign"]) == ("TIME", "crossref-works-2026-01-01-2026-01-05")

    def test_with_probe_it_says_the_providers_counts_and_keeps_none(self, patra: Patra, quiet_sandbox: Sandbox) -> None:
        before = contents(patra, "ing_rate_gate", "ing_gate_use")
        report = patra(*BACKFILL, "--dry-run", "--probe")
        sizes, truth = report["sizes"], quiet_sandbox.truth(from_="2026-01-01", to="2026-01-05")

        assert contents(patra, "ing_rate_gate", "ing_gate_use") == before
        assert quiet_sandbox.requests()
        assert set(sizes["methods"]) == {"COUNT"}
        assert len(truth) <= sizes["estimated_records"] < 1.1 * len(truth)  # hours are asked for with both ends
        assert sizes["smallest"]["records"] <= sizes["largest"]["records"] <= sizes["estimated_records"]
        assert sizes["expected_requests"] == report["expected_requests"] == -(-sizes["estimated_records"] // 700)

    def test_the_plan_made_next_is_the_one_that_was_shown(self, patra: Patra) -> None:
        shown = patra(*BACKFILL, "--dry-run", "--probe")
        made = patra(*BACKFILL)

        assert {name: made[name] for name in ("window", "slices", "sizes", "campaign", "warnings")} == {
            name: shown[name] for name in ("window", "slices", "sizes", "campaign", "warnings")
        }

    def test_people_see_a_table_and_a_line_of_time(self, patra: Patra) -> None:
        printed = told(patra, *BACKFILL, "--dry-run", "--probe")
        lines = [" ".join(line.split()) for line in printed.splitlines()]
        drawn = next(line for line in lines if line.startswith("|"))

        assert lines[0] == "dry run: nothing was written"
        assert "window 2026-01-01 00:00 UTC .. 2026-01-05 00:00 UTC" in lines
        assert "slices 1 (0 existing)" in lines
        assert "smallest slice 1,844 records, 2026-01-01 00:00 UTC .. 2026-01-05 00:00 UTC" in lines
        assert "records expected 1,844 (slices sized 1 by COUNT)" in lines
        assert "requests expected 3" in lines
        assert drawn == "|" + "█" * 48 + "|"
        assert lines[lines.index(drawn) + 1].split() == ["2026-01-01", "2026-01-05"]

    def test_sizes_that_are_not_known_are_not_invented(self, patra: Patra) -> None:
        printed = told(patra, *BACKFILL, "--dry-run")

        assert "not known (slices sized 16 by CONSTANT; --probe asks the provider)" in printed
        assert "11,200" not in printed
        assert "█" not in printed

    @pytest.mark.parametrize("how", [("--dry-run", "--probe"), ()], ids=["dry run", "plan"])
    def test_a_provider_that_was_not_reached_is_named_and_nothing_is_drawn(
        self, patra: Patra, monkeypatch: pytest.MonkeyPatch, how: tuple[str, ...]
    ) -> None:
        monkeypatch.setitem(patra.environment, "PATRA_UPSTREAM_CROSSREF", "http://127.0.0.1:9")
        printed = told(patra, *BACKFILL, *how)

        assert "the provider was not reached, so the sizes are guesses" in printed
        assert "not known (slices sized 16 by CONSTANT)" in printed
        assert "█" not in printed


HOLES = [
    ("2026-01-02T06:00:00.000000Z", "2026-01-02T12:00:00.000000Z"),
    ("2026-01-03T12:00:00.000000Z", "2026-01-03T18:00:00.000000Z"),
]
DIRECTIONS: dict[str, tuple[str, ...]] = {"oldest first": (), "newest first": ("--newest-first",)}


class TestBackfill:
    """A campaign: in several plans, beside a harvest, up or down."""

    @pytest.mark.parametrize("direction", DIRECTIONS.values(), ids=DIRECTIONS)
    def test_a_campaign_is_resumed_until_the_truth_is_there(
        self, patra: Patra, quiet_sandbox: Sandbox, direction: tuple[str, ...]
    ) -> None:
        patra.apply_crossref(window=BY_STEP, slicing={"max_queued": 6})
        patra("plan", "crossref", *HARVESTED)
        patra("execute")
        harvest = patra.rows("ing_cursor")
        plans: list[Row] = []
        while not plans or (plans[-1]["status"] == "PARTIAL" and len(plans) < 5):
            plans.append(patra(*BACKFILL, "--campaign", "winter", *direction))
            patra("execute")
        windows = [window for plan in plans for window in slice_windows(patra, plan["plan_id"])]
        after = patra(*BACKFILL, "--campaign", "winter", *direction)

        assert [(plan["status"], plan["slices"]) for plan in plans] == [("PARTIAL", 6), ("PARTIAL", 6), ("READY", 4)]
        assert [plan["stock"] is not None for plan in plans] == [True, True, False]
        assert windows == sorted(windows, reverse=bool(direction))
        assert len(set(windows)) == 16
        assert (after["slices"], after["status"]) == (0, "SUCCEEDED")
        patra.assert_truth(quiet_sandbox.truth(from_="2026-01-01", to="2026-01-05"))
        assert patra.rows("ing_cursor", where="operation_code = 'HARVEST'") == harvest
        low, high = "2026-01-01T00:00:00.000000Z", "2026-01-05T00:00:00.000000Z"
        assert watermarks(patra)["BACKFILL"] == (low if direction else high)

    @pytest.mark.parametrize("direction", DIRECTIONS.values(), ids=DIRECTIONS)
    def test_planned_twice_before_it_is_executed_it_goes_on_where_the_stock_ended(
        self, patra: Patra, direction: tuple[str, ...]
    ) -> None:
        """Nobody is asked for sizes, so every step is a slice."""
        unaware = (*BACKFILL, *direction, "--set", "slicing.probe_budget=0")
        plans = [patra(*unaware, "--set", f"slicing.max_queued={most}") for most in (6, 6, 0)]
        windows = [window for plan in plans for window in slice_windows(patra, plan["plan_id"])]

        assert [plan["slices"] for plan in plans] == [6, 0, 10]
        assert [plan["status"] for plan in plans] == ["PARTIAL", "PARTIAL", "READY"]
        assert windows == sorted(windows, reverse=bool(direction))
        assert len(set(windows)) == 16
        assert {row["priority"] for row in patra.rows("ing_task")} == {7}

    @pytest.mark.parametrize("direction", DIRECTIONS.values(), ids=DIRECTIONS)
    def test_what_failed_is_planned_again_and_nothing_else(
        self, patra: Patra, quiet_sandbox: Sandbox, direction: tuple[str, ...]
    ) -> None:
        patra.apply_crossref(window=BY_STEP)
        patra(*BACKFILL, *direction)
        asked = [f"from-index-date:{start[:13]}" for start, _ in HOLES]
        refused = {"kind": "status", "status": 400, "times": None}
        quiet_sandbox.script(*({**refused, "match": {"contains": one}} for one in asked))
        patra("execute", exit_code=1)
        quiet_sandbox.script()
        waiting = watermarks(patra)["BACKFILL"]
        again = patra(*BACKFILL, *direction)
        done = patra("execute")

        assert slice_windows(patra, again["plan_id"]) == (HOLES[::-1] if direction else HOLES)
        assert waiting == (HOLES[1][1] if direction else HOLES[0][0])
        assert done["tasks"] == {"succeeded": 2, "partial": 0, "failed": 0}
        patra.assert_truth(quiet_sandbox.truth(from_="2026-01-01", to="2026-01-05"))

    def test_outside_of_its_first_bounds_a_campaign_is_refused(self, patra: Patra) -> None:
        patra(*BACKFILL, "--campaign", "winter")
        before = contents(patra, "ing_schedule_instance")
        wider = ("--from", "2025-12-30", "--to", "2026-01-05", *CLOCK, "--campaign", "winter")
        error = patra("plan", "crossref", "--operation", "BACKFILL", *wider, exit_code=2)["error"]

        assert error["code"] == "OUTSIDE_CAMPAIGN"
        assert "2025-12-30" in error["message"]
        assert "'winter'" in error["where"]
        assert contents(patra, "ing_schedule_instance") == before
        assert patra.rows("ing_schedule_instance")[-1]["record_remarks"]["error"]["code"] == "OUTSIDE_CAMPAIGN"


class TestUpdate:
    """A refresh: of ids by id, of a period by time."""

    def test_ids_of_a_file_become_slices_and_are_planned_once(
        self, patra: Patra, quiet_sandbox: Sandbox, tmp_path: Path
    ) -> None:
        ids = [str(number) for number in range(10_000, 12_500)]
        file = tmp_path / "ids.txt"
        file.write_text("\n".join([*ids, "", f"  {ids[0]}  "]), encoding="utf-8")
        refresh = ("plan", "pubmed", "--operation", "UPDATE", "--ids", str(file), "--campaign", "errata", *CLOCK)
        dry = patra(*refresh, "--dry-run")
        plan, again = patra(*refresh), patra(*refresh)
        slices = patra.rows("ing_plan_slice")
        signals = patra.rows("ing_signal", "provider_id", "state_code")

        assert [one["slices"] for one in (dry, plan, again)] == [2, 2, 0]
        assert (plan["strategy"], again["status"]) == ("ID_RANGE", "SUCCEEDED")
        assert "waits to be refreshed" in again["reason"]
        assert [row["slice_spec"]["hints"]["estimatedRecords"] for row in slices] == [2000, 500]
        ranges = [row["slice_spec"]["range"] for row in slices]
        assert [(part["from"], part["to"]) for part in ranges] == [("10000", "11999"), ("12000", "12499")]
        assert {row["priority"] for row in patra.rows("ing_task")} == {5}
        assert sorted(row["provider_id"] for row in signals) == ids
        assert {row["state_code"] for row in signals} == {"PLANNED"}
        assert quiet_sandbox.requests() == []
        assert patra.rows("ing_cursor") == []

    def test_a_dry_run_leaves_out_ids_that_a_plan_would_leave_out(self, patra: Patra, tmp_path: Path) -> None:
        (tmp_path / "ids.txt").write_text("10000\n10001\n", encoding="utf-8")
        refresh = ("plan", "pubmed", "--operation", "UPDATE", "--ids", str(tmp_path / "ids.txt"), *CLOCK)
        patra(*refresh)

        assert [patra(*refresh, *dry)["slices"] for dry in ((), ("--dry-run",))] == [0, 0]

    def test_a_period_is_refreshed_by_time_beside_the_harvest(self, patra: Patra) -> None:
        refreshing(patra)
        patra("plan", "crossref", *HARVESTED)
        patra("execute")
        plan = patra("plan", "crossref", "--operation", "UPDATE", *HARVESTED)
        again = patra("plan", "crossref", "--operation", "UPDATE", *HARVESTED)

        assert [(one["slices"], one["strategy"]) for one in (plan, again)] == [(4, "TIME"), (0, "TIME")]
        keys = {row["operation_code"]: row["cursor_key"] for row in patra.rows("ing_cursor")}
        assert keys == {"HARVEST": "indexed_at", "UPDATE": "refresh_checked_at"}


@pytest.mark.parametrize("state", ["PAUSED", "FUSED"])
def test_a_partition_that_rests_is_not_planned_and_says_why(patra: Patra, quiet_sandbox: Sandbox, state: str) -> None:
    pause(patra, "HARVEST", state)
    before = contents(patra, "ing_schedule_instance")
    for dry in ((), ("--dry-run",)):
        error = patra("plan", "crossref", *HARVESTED, *dry, exit_code=4)["error"]
        assert (error["code"], error["where"]) == (f"PARTITION_{state}", "partition crossref.works.harvest")
        assert error["message"] == f"it is {state}: the provider is moving"

    assert contents(patra, "ing_schedule_instance") == before
    assert quiet_sandbox.requests() == []
    assert patra("explain", "window", "crossref", *HARVESTED)["empty"] is False
    assert patra(*BACKFILL)["slices"] > 0


BAD = {
    "newest first": (("--newest-first",), "REQUEST_INVALID", "newest_first"),
    "a campaign of a harvest": (("--campaign", "winter"), "REQUEST_INVALID", "campaign 'winter'"),
    "no campaign's name": (("--operation", "BACKFILL", "--campaign", ""), "REQUEST_INVALID", "campaign ''"),
    "ids that are not there": (("--operation", "UPDATE", "--ids", "no/such.txt"), "IDS_UNREADABLE", "no/such.txt"),
    "ids of a harvest": (("--ids", "{file}"), "REQUEST_INVALID", "only an UPDATE"),
    "no ids": (("--operation", "UPDATE", "--ids", "{empty}"), "IDS_MISSING", "names no id"),
    "a strategy without a code": (("--set", "slicing.strategy=HYBRID"), "SPEC_INVALID", "STRATEGY_UNAVAILABLE"),
    "a budget below none": (("--set", "slicing.probe_budget=-1"), "OVERRIDE_INVALID", "greater than or equal to 0"),
}


@pytest.mark.parametrize(("arguments", "code", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_meant_is_refused_and_nothing_is_written(
    patra: Patra, quiet_sandbox: Sandbox, tmp_path: Path, arguments: tuple[str, ...], code: str, words: str
) -> None:
    (tmp_path / "some.txt").write_text("1\n", encoding="utf-8")
    (tmp_path / "none.txt").write_text("\n  \n", encoding="utf-8")
    files = {"file": str(tmp_path / "some.txt"), "empty": str(tmp_path / "none.txt")}
    noted = ("ing_schedule_instance",) if code in ("SPEC_INVALID", "OVERRIDE_INVALID") else ()
    before = contents(patra, *noted)
    error = patra("plan", "crossref", *(one.format(**files) for one in arguments), exit_code=2)["error"]

    assert error["code"] == code
    assert words in error["message"]
    assert error["remedy"]
    assert contents(patra, *noted) == before
    assert quiet_sandbox.requests() == []


def test_a_window_may_be_said_in_words(patra: Patra) -> None:
    words = ("--window", "last 2 days", *CLOCK)
    explained = patra("explain", "window", "crossref", *words)
    assert explained["window"] == {"from": "2026-01-05T06:34:56.000000Z", "to": "2026-01-07T06:00:00.000000Z"}
    assert "as 'last 2 days'" in next(step["why"] for step in explained["steps"] if step["step"] == "user.from")
    key = ("--trigger-key", "daily")
    planned = patra("plan", "crossref", *words, *key)
    assert planned["window"] == explained["window"]
    (trigger,) = patra.rows("ing_schedule_instance")
    assert (trigger["trigger_params"]["window"], trigger["trigger_params"]["from"]) == ("last 2 days", None)
    again = patra("plan", "crossref", "--window", "last 2 days", "--now", "2026-01-08", *key)
    assert (again["plan_id"], again["tasks_created"]) == (planned["plan_id"], 0)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--window", "last days"), "WINDOW_UNREADABLE"),
        (("--window", "yesterday", "--from", "2026-01-01"), "WINDOW_TWICE"),
        (("--priority", "10"), "REQUEST_INVALID"),
        (("--set", "rate_limit.requests_per_second=2001"), "SPEC_INVALID"),
        (("--set", "rate_limit.requests_per_second=0"), "OVERRIDE_INVALID"),
    ],
    ids=str,
)
def test_a_request_that_cannot_be_is_refused(patra: Patra, options: tuple[str, ...], code: str) -> None:
    assert patra("plan", "crossref", *options, exit_code=2)["error"]["code"] == code
    assert patra.rows("ing_plan") == []


def test_a_plan_is_as_urgent_as_was_asked_for(patra: Patra) -> None:
    patra("plan", "crossref", *HARVESTED)
    patra(*BACKFILL, "--priority", "2")
    urgencies = {(task["operation_code"], task["priority"]) for task in patra.rows("ing_task")}
    assert urgencies == {("HARVEST", 3), ("BACKFILL", 2)}


def test_a_slower_plan_is_slow_on_all_workers_together(patra: Patra, quiet_sandbox: Sandbox) -> None:
    sizes = ("--set", "pagination.page_size=150", "--set", "slicing.target_records=600")
    patra(*BACKFILL, *sizes, "--set", "rate_limit.requests_per_second=2")
    quiet_sandbox.clear_requests()
    workers = [patra.start("execute", "--until-idle") for _ in range(2)]
    for worker in workers:
        worker.communicate(timeout=120)
    assert [worker.returncode for worker in workers] == [0, 0]
    moments = [request["monotonic_seconds"] for request in quiet_sandbox.requests()]
    assert len(moments) >= 8
    seconds = moments[-1] - moments[0]
    late = 1.5  # a first request that a busy machine holds up arrives with those after it
    assert len(moments) - 1 <= 2 * (seconds + late), f"{len(moments)} requests in {seconds:.2f} s"
