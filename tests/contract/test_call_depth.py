"""How deep a request lies below the run loop: at most five functions of ours, whatever kind of request it is."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import ingest_core
from ingest_core.execution.fetch import Fetcher
from ingest_core.execution.paging import paginator_of
from ingest_core.execution.request import Caller, render_request
from ingest_core.execution.unset import UnsetCheck, readable
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import Operation
from ingest_core.model.id_range import IdRange, Without
from ingest_core.planning.request import PlanRequest
from ingest_core.transport.http import HttpUpstream
from tests.contract.test_refresh import REFRESHED
from tests.contract.test_walks import TWO_PHASES, planned
from tests.models.split_model import DAY
from tests.models.split_model import source as source_of
from tests.support.books import SOURCE, source_rows
from tests.support.upstream import ScriptedGate
from tests.support.wiring import Stores, runner_of
from tests.support.working import claim, trigger

MOST_FRAMES = 5
RUN_LOOP = {"_arrive"}
"""What the run loop calls on its background thread; tests that fetch without a run stand in its place."""


class StackTransport(httpx.BaseTransport):
    """Notes which functions of ours lie between the run loop and httpx, then answers or fails."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.stacks: list[list[str]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The next answer of the script, then no connection."""
        self.stacks.append(_functions_below_the_loop())
        if not self.answers:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(200, content=json.dumps(self.answers.pop(0)).encode())


def _functions_below_the_loop() -> list[str]:
    home, frame, names = str(Path(ingest_core.__file__).parent), sys._getframe(2), list[str]()
    while frame.f_code.co_name not in RUN_LOOP and not frame.f_code.co_name.startswith("test_"):
        if frame.f_code.co_filename.startswith(home):
            names.append(frame.f_code.co_name)
        assert frame.f_back is not None, "no run loop above httpx"
        frame = frame.f_back
    return names[::-1]


def sent_by(transport: httpx.BaseTransport) -> HttpUpstream:
    return HttpUpstream("patra-test", transport=transport, allow_private_addresses=True)


def test_a_page_is_asked_for_in_five_frames(stores: Stores) -> None:
    planned(stores)
    transport = StackTransport()
    runner_of(stores, sent_by(transport)).run(claim(stores))
    assert transport.stacks[0] == ["fetch_whole", "fetch", "ask", "send", "_answer"]
    assert len(transport.stacks) == 3, "a failed send is repeated from the same place"


def test_details_are_asked_for_in_five_frames(stores: Stores) -> None:
    planned(stores, **TWO_PHASES)
    transport = StackTransport({"items": ["b0", "b1", "b2"], "total": 3})
    runner_of(stores, sent_by(transport)).run(claim(stores))
    assert transport.stacks[1] == ["fetch_whole", "fetch_details", "ask", "send", "_answer"]


def test_ids_are_refreshed_in_five_frames(stores: Stores) -> None:
    stores.registry.apply([source_rows(**REFRESHED)])
    stores.planner.plan(PlanRequest(SOURCE, Operation.UPDATE, ids=("b1",)), trigger())
    transport = StackTransport()
    runner_of(stores, sent_by(transport)).run(claim(stores))
    assert transport.stacks[0] == ["fetch_listed", "fetch_details", "ask", "send", "_answer"]


@pytest.mark.parametrize(("rules", "read_first"), [("NOT EXISTS", True), ("no NOT", False)])
def test_a_part_without_the_split_field_is_checked_in_five_frames(*, rules: str, read_first: bool) -> None:
    spec = source_of(rules, 0)
    transport = StackTransport(*[{"items": [], "total": 3}] * 2)
    fetcher = Fetcher(spec, ScriptedGate(), sent_by(transport), sleep=lambda _seconds: None)
    part, caller = IdRange("n", without=Without.ONLY), Caller("c")
    request = render_request(spec, DAY, paginator_of(spec.paging).first(), caller, readable(spec, part))
    fetch, check = UnsetCheck(fetcher, DAY, part, caller).steps(partial(fetcher.fetch, request))
    with pytest.raises(UpstreamError, match="unreachable"):
        check(fetch()) if check else fetch()
    counting = ["with_notes" if read_first else "empty_page", "_compare", "ask", "send", "_answer"]
    assert counting in transport.stacks
    assert max(map(len, transport.stacks)) <= MOST_FRAMES
