"""Ways of slicing that others install: found by entry point, chosen in a source file, and nothing else changes."""

import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from ingest_core.bootstrap import App, check_source, open_core_app, strategies, upgrade_database
from ingest_core.model.codes import SchedulerCode, SliceStrategy
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.registry.problems import SpecInvalid
from ingest_core.settings import Settings
from ingest_core.store.schema.tables import ing_plan, ing_plan_slice, sys_dict_item
from tests.support.app_database import database_of
from tests.support.specs import at, crossref_document
from tests.support.yaml_text import yaml_of

MODULE = "patra_test_weeks"
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "planning.md"

WEEKS = """
from datetime import timedelta

from ingest_core.model.window import Window
from ingest_core.planning.strategies.strategy import Piece


class WeekStrategy:
    code = "WEEKLY"

    def refusal(self, spec):
        return "it has no time to be cut by" if spec.window is None else None

    def pieces(self, context):
        for need in context.needs:
            start = need.window.start
            while start < need.window.end:
                midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
                monday = midnight + timedelta(days=7 - midnight.weekday())
                end = min(need.window.end, monday)
                yield Piece(Window(start, end), context.estimator.estimate(Window(start, end)))
                start = end
"""


def install(folder: Path, name: str, code: str, entry_points: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a package as an installer would."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[patra.slice_strategies]\n{entry_points}\n")
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)


@pytest.fixture
def _weekly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with a strategy."""
    install(tmp_path, MODULE, WEEKS, f"weekly = {MODULE}:WeekStrategy", monkeypatch)
    yield
    sys.modules.pop(MODULE, None)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """An SQLite database of this test's own, and a provider nobody reaches."""
    return Settings(
        home=tmp_path / "home",
        database_url=f"sqlite:///{tmp_path}/patra.db",
        upstreams={"crossref": "http://127.0.0.1:1/crossref"},
    )


def source_file(strategy: str) -> str:
    """Crossref's file, cut that way, its sizes asked of nobody."""
    return yaml_of(crossref_document(slicing={"strategy": strategy, "probe_budget": 0}))


def values(app: App, column: sa.Column[Any], *where: sa.ColumnElement[bool]) -> list[Any]:
    """A column's values, in order of id."""
    with database_of(app).read() as connection:
        query = sa.select(column).where(*where).order_by(column.table.c.id)
        return list(connection.execute(query).scalars())


def planned(app: App, strategy: str, start: str, end: str) -> dict[str, Any]:
    """The report of a first harvest with the file applied."""
    app.registry.apply([check_source(source_file(strategy), "crossref.yaml", app.database)])
    request = PlanRequest("crossref", user_from=at(start), user_to=at(end))
    return app.planner.plan(request, Trigger(SchedulerCode.CLI, "first"), at("2026-03-10")).json()


def slice_days(app: App) -> list[tuple[str, str]]:
    """The first day of each slice, and the first after it."""
    windows = [spec["window"] for spec in values(app, ing_plan_slice.c.slice_spec)]
    return [(window["from"][:10], window["to"][:10]) for window in windows]


def test_without_it_only_ours_are_there() -> None:
    assert strategies().codes == {"TIME", "ID_RANGE"}


@pytest.mark.usefixtures("_weekly")
def test_an_installed_strategy_is_found() -> None:
    assert strategies().codes == {"TIME", "ID_RANGE", "WEEKLY"}


@pytest.mark.usefixtures("_weekly")
def test_it_plans_under_its_own_code_and_nothing_else_changes(settings: Settings) -> None:
    upgrade_database(settings)
    with open_core_app(settings) as app:
        report = planned(app, "WEEKLY", "2026-01-01", "2026-01-20")
        again = app.planner.plan(
            PlanRequest("crossref", user_from=at("2026-01-01"), user_to=at("2026-01-20")),
            Trigger(SchedulerCode.CLI, "second"),
            at("2026-03-10"),
        )

        assert report["strategy"] == "WEEKLY"
        assert values(app, ing_plan.c.slice_strategy_code) == ["WEEKLY", "WEEKLY"]
        assert {spec["strategy"] for spec in values(app, ing_plan_slice.c.slice_spec)} == {"WEEKLY"}
        assert slice_days(app) == [
            ("2026-01-01", "2026-01-05"),
            ("2026-01-05", "2026-01-12"),
            ("2026-01-12", "2026-01-19"),
            ("2026-01-19", "2026-01-20"),
        ]
        assert (again.plan.slices, again.json()["reason"] is not None) == (0, True)
        codes = values(app, sys_dict_item.c.item_code, sys_dict_item.c.type_code == "ing_slice_strategy")
        assert codes == [*SliceStrategy, "WEEKLY"]


@pytest.mark.usefixtures("_weekly")
def test_it_may_be_chosen_for_one_plan(settings: Settings) -> None:
    upgrade_database(settings)
    with open_core_app(settings) as app:
        overrides = {"slicing.strategy": "WEEKLY", "slicing.probe_budget": "0"}
        request = PlanRequest("crossref", user_from=at("2026-01-05"), user_to=at("2026-01-19"), overrides=overrides)
        report = app.planner.dry_run(request, at("2026-03-10")).json()

    assert (report["strategy"], report["slices"]) == ("WEEKLY", 2)


def test_upgrading_again_after_installing_adds_its_code(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade_database(settings)
    install(tmp_path, MODULE, WEEKS, f"weekly = {MODULE}:WeekStrategy", monkeypatch)
    with open_core_app(settings) as app:
        kind = sys_dict_item.c.type_code == "ing_slice_strategy"
        assert "WEEKLY" not in values(app, sys_dict_item.c.item_code, kind)
        upgrade_database(settings)
        assert values(app, sys_dict_item.c.item_code, kind).count("WEEKLY") == 1
    sys.modules.pop(MODULE)


@pytest.mark.parametrize("strategy", ["WEEKLY", "HYBRID", "CURSOR_LANDMARK", "VOLUME_BUDGET", "ID_RANGE"])
def test_what_cannot_cut_a_window_is_refused_when_it_is_compiled(settings: Settings, strategy: str) -> None:
    upgrade_database(settings)
    with open_core_app(settings) as app, pytest.raises(SpecInvalid) as refused:
        planned(app, strategy, "2026-01-01", "2026-01-20")
    problems = {(problem.rule, problem.key, problem.value, problem.remedy) for problem in refused.value.problems}

    assert problems == {("STRATEGY_UNAVAILABLE", "slicing.strategy", strategy, "use TIME")}
    assert f"slicing by {strategy} is not available here" in str(refused.value)


def test_the_strategy_of_the_docs_plans_by_month(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r'^```python\n("""BY_MONTH: .+?)^```$', text, re.MULTILINE | re.DOTALL)
    (entry,) = re.findall(r'^\[project\.entry-points\."patra\.slice_strategies"\]\n(.+)$', text, re.MULTILINE)
    module = "month_slices"
    install(tmp_path, module, code, entry.replace('"', ""), monkeypatch)
    upgrade_database(settings)
    with open_core_app(settings) as app:
        report = planned(app, "BY_MONTH", "2025-11-15", "2026-02-03")
        days = slice_days(app)
    sys.modules.pop(module)

    assert report["strategy"] == "BY_MONTH"
    assert [start for start, _ in days] == ["2025-11-15", "2025-12-01", "2026-01-01", "2026-02-01"]
    assert all(one[1] == other[0] for one, other in pairwise(days))
    assert at(days[-1][1]) - at(days[-1][0]) == timedelta(days=2)
