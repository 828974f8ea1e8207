"""A page of another site in a real browser: neither directly nor by DNS rebinding does it reach `patra up`."""

import sys
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowFilter
from prefect.settings import PREFECT_API_URL, temporary_settings

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings as SandboxSettings
from flows.up.control_room import UpOptions, _prefect_settings, _status
from flows.up.home import room_home
from ingest_core.settings import load_settings
from tests.support.browser import running_chromium
from tests.support.prefect import Process, bare_environment, free_port, until

pytestmark = pytest.mark.timeout(300)

EVIL = "evil.example"
REBINDING = f"--host-resolver-rules=MAP {EVIL} 127.0.0.1"
FETCH = """async ([url, options]) => {
    try {
        const answer = await fetch(url, options);
        return {type: answer.type, status: answer.status, text: await answer.text()};
    } catch (error) { return {error: String(error)}; }
}"""
SOCKET = """url => new Promise(done => {
    const socket = new WebSocket(url);
    socket.onopen = () => done("open");
    socket.onclose = () => done("closed");
})"""


@dataclass(frozen=True)
class Room:
    """What `patra up` opens: a Prefect server and a sandbox."""

    port: int
    sandbox: Sandbox

    @property
    def api(self) -> str:
        """Where programs go."""
        return f"http://127.0.0.1:{self.port}/api"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A server and a sandbox, started as `patra up` starts them."""
    folder = tmp_path_factory.mktemp("visitors")
    options = UpOptions(free_port(), sandbox=False)
    home = room_home(load_settings({"PATRA_HOME": str(folder)}), sandbox=False)
    environment = {**bare_environment(), **_prefect_settings(home, options)}
    command = [sys.executable, "-m", "flows.up.server", "--host", "127.0.0.1", "--port", str(options.port)]
    server = Process(command, environment, folder / "server.log")
    try:
        with running(SandboxSettings(works=10)) as sandbox:
            until(lambda: _status(options.port) == 200, 120, "the server's start", every=0.1)
            yield Room(options.port, sandbox)
    finally:
        server.stop()


class _Blank(BaseHTTPRequestHandler):
    """An empty page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>prizes</title>")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """The address of another site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Blank)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://{EVIL}:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser in which the other site's name leads to this machine, as after a rebinding."""
    with running_chromium(REBINDING) as chromium:
        yield chromium


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of the browser."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def _fetch(page: Page, url: str, **options: Any) -> dict[str, Any]:
    answer: dict[str, Any] = page.evaluate(FETCH, [url, options])
    return answer


def _flows(room: Room) -> list[str]:
    """The flows the server knows, asked by Prefect's own client."""
    with temporary_settings({PREFECT_API_URL: room.api}), get_client(sync_client=True) as client:
        return [flow.name for flow in client.read_flows(flow_filter=FlowFilter())]


@pytest.mark.parametrize("mode", ["cors", "no-cors"])
def test_another_sites_page_changes_and_reads_nothing(room: Room, elsewhere: str, page: Page, mode: str) -> None:
    page.goto(elsewhere)
    text = {"Content-Type": "text/plain"}
    for name in ("127.0.0.1", "localhost"):
        api, sandbox = f"http://{name}:{room.port}/api", f"http://{name}:{room.sandbox.base_url.rpartition(':')[2]}"
        fault = '[{"kind": "status", "status": 503}]'
        answers = [
            _fetch(page, f"{api}/csrf-token?client=evil", mode=mode),
            _fetch(page, f"{api}/flows/", method="POST", body='{"name": "evil"}', headers=text, mode=mode),
            _fetch(page, f"{sandbox}/_sandbox/faults", method="POST", body=fault, headers=text, mode=mode),
            _fetch(page, f"{sandbox}/_sandbox/scrolls/expire", method="POST", mode=mode),
        ]
        assert all(one.get("error") or one["type"] == "opaque" for one in answers), answers
        assert page.evaluate(SOCKET, f"ws://{name}:{room.port}/api/events/in") == "closed"
    assert room.sandbox.faults() == []
    assert "evil" not in _flows(room)


def test_another_sites_form_changes_nothing(room: Room, elsewhere: str, page: Page) -> None:
    page.goto(elsewhere)
    with page.expect_navigation() as awaited:
        page.evaluate(
            """url => {
                const form = document.createElement("form");
                Object.assign(form, {method: "POST", action: url, enctype: "text/plain"});
                form.innerHTML = `<input name='[{"kind": "status", "status": 503, "note": "' value='"}]'>`;
                document.body.append(form);
                form.submit();
            }""",
            f"{room.sandbox.base_url}/_sandbox/faults",
        )
    assert awaited.value is not None
    assert awaited.value.status == 403
    assert room.sandbox.faults() == []


def test_a_rebound_name_gets_nothing(room: Room, page: Page) -> None:
    for port, paths in (
        (room.port, ("/", "/ui-settings", "/api/health", "/api/csrf-token?client=evil", "/api/admin/version")),
        (int(room.sandbox.base_url.rpartition(":")[2]), ("/_sandbox/truth?source=crossref", "/crossref/works")),
    ):
        opened = page.goto(f"http://{EVIL}:{port}/")
        assert opened is not None
        assert opened.status == 400
        assert all(_fetch(page, path)["status"] == 400 for path in paths)
    page.goto(f"http://{EVIL}:{room.port}/")
    json = {"Content-Type": "application/json"}
    made = _fetch(page, "/api/flows/", method="POST", body='{"name": "evil"}', headers=json)
    assert made["status"] == 400
    assert EVIL in made["text"]
    assert page.evaluate(SOCKET, f"ws://{EVIL}:{room.port}/api/events/in") == "closed"
    assert "evil" not in _flows(room)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_ui_works_by_either_name(room: Room, page: Page, name: str) -> None:
    page.route(lambda url: str(room.port) not in url, lambda route: route.abort())  # its maker's host
    with page.expect_response(lambda one: "/api/" in one.url and one.request.method == "POST") as awaited:
        page.goto(f"http://{name}:{room.port}/")
    assert awaited.value.status == 200
    page.get_by_role("link", name="Deployments").first.wait_for()


def test_programs_are_answered(room: Room) -> None:
    assert isinstance(_flows(room), list)
    with urllib.request.urlopen(f"{room.api}/health") as answer:
        assert answer.status == 200
    assert _status(room.port, {"Host": "patra.invalid"}) == 400
