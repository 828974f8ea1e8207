"""The control room as a person sees it: Chromium, headless, in front of the pages Prefect's server shows by default."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Response, Route, expect, sync_playwright

from tests.support.prefect import ROOT

SCREENSHOTS = ROOT / "build" / "screenshots"
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTH, HEIGHT = 1280, 900
WAIT_MS = 60_000  # a page is asked of a busy machine
SUBMITS = 5
CLICKS, CLICK_MS = 5, 15_000

expect.set_options(timeout=WAIT_MS)


def require_chromium() -> str:
    """Where Chromium is; without one the test is skipped, and under PATRA_CI=1 it fails."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found:
        return found
    message = "no Chromium: install Debian's package chromium"
    if os.environ.get("PATRA_CI") == "1":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@contextmanager
def running_chromium(*flags: str) -> Iterator[Browser]:
    """A browser with a profile of its own, started with further flags."""
    path = require_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_screen(browser: Browser, address: str, folder: Path) -> Iterator["Screen"]:
    """A window in front of a Prefect server; what it shows last is kept whatever happens."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, timezone_id="UTC", locale="en-GB", base_url=address
    )
    context.set_default_timeout(WAIT_MS)
    # The pages ask for a host of their maker's: nothing here needs it.
    context.route(lambda url: not url.startswith(address), _refuse)
    screen = Screen(context.new_page(), folder)
    try:
        yield screen
    finally:
        screen.shot("end")
        context.close()


def _refuse(route: Route) -> None:
    route.abort()


class Screen:
    """What a person does there, and what they read."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        self._folder = folder
        self._shots = 0
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    @property
    def main(self) -> Locator:
        """The page without its menu."""
        return self.page.get_by_role("main")

    @property
    def aside(self) -> Locator:
        """The column beside a deployment's runs."""
        return self.main.get_by_role("complementary")

    def shot(self, step: str, *, whole: bool = False) -> Path:
        """Keep what is seen now; if whole, with what lies below the window's end."""
        self._shots += 1
        file = self._folder / f"{self._shots:02d}-{step}.png"
        self.page.screenshot(path=file, full_page=whole, animations="disabled")
        return file

    def go(self, entry: str) -> None:
        """Click an entry of the menu, coming from the server's address where nothing is open yet."""
        if self.page.url == "about:blank":
            self.page.goto("/")
        self.page.get_by_role("link", name=entry, exact=True).first.click()
        expect(self.main.get_by_text(entry, exact=True).first).to_be_visible()

    def sees(self, text: str | re.Pattern[str]) -> None:
        """The page shows this, now or soon."""
        expect(self.main.get_by_text(text).first).to_be_visible()

    def turn_to(self, text: str | re.Pattern[str]) -> None:
        """Scroll to where the page shows this."""
        self.sees(text)
        self.main.get_by_text(text).first.scroll_into_view_if_needed()

    def open_deployment(self, name: str) -> None:
        """Find a deployment in the list and open it."""
        self.go("Deployments")
        self._follow(name, self.main.get_by_role("tab", name="Runs"))

    def switch(self, schedule: str, *, on: bool) -> None:
        """Switch a schedule of the open deployment."""
        switch = self.aside.get_by_role("switch", name=re.compile(schedule))
        self._taken("/schedules/", switch.click)
        expect(switch).to_be_checked(checked=on)

    def open_form(self, deployment: str) -> None:
        """Open the form with which a deployment is run."""
        self.open_deployment(deployment)
        self.main.get_by_role("button", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Custom run").click()
        expect(self.main.locator("fieldset").first).to_be_visible()

    def quick_run(self, deployment: str) -> str:
        """Run a deployment as it stands; the id of the run."""
        self.open_deployment(deployment)

        def click() -> None:
            self.main.get_by_role("button", name="Run", exact=True).click()
            self.page.get_by_role("menuitem", name="Quick run").click()

        return str(self._taken("/create_flow_run$", click).json()["id"])

    def _taken(self, path: str, click: Callable[[], None]) -> Response:
        """The server's answer to what is clicked; one that is too busy is asked again, as a person does."""
        for _ in range(SUBMITS):
            with self.page.expect_response(re.compile(path)) as awaited:
                click()
            answer: Response = awaited.value
            if answer.ok:
                return answer
        raise AssertionError(f"not taken: {answer.status} {answer.text()}")

    def field(self, title: str) -> Locator:
        """A field of the form, by the title above it."""
        titled = re.compile(rf"^{re.escape(title)}( \(Optional\))?$")
        return self.main.locator("label").filter(has_text=titled).locator("xpath=ancestor::div[./fieldset][1]")

    def choose(self, title: str, value: str) -> None:
        """Take one of the choices a field offers."""
        self.field(title).locator("fieldset").get_by_role("button").click()
        self.page.get_by_role("option", name=value, exact=True).click()

    def write(self, title: str, text: str) -> None:
        """Fill in a text."""
        self.field(title).locator("fieldset textarea, fieldset input").fill(text)

    def pick_day(self, title: str, day: str) -> None:
        """Give a field a day, typed above its calendar."""
        self.field(title).locator("fieldset").get_by_role("button").click()
        calendar = self.page.get_by_role("dialog")
        calendar.get_by_role("textbox").fill(day)
        self.page.keyboard.press("Escape")
        expect(calendar).to_be_hidden()

    def give_json(self, title: str, value: str) -> None:
        """Give a field a value the form does not offer."""
        self.field(title).get_by_role("button", name="Open menu").click()
        self.page.get_by_role("menuitem", name="Use JSON Input").click()
        self.field(title).get_by_role("textbox").fill(value)

    def objection(self, title: str) -> str:
        """What the browser itself has against a field's value when the form is sent."""
        self.main.get_by_role("button", name="Submit").click()
        objection: str = self.field(title).locator("input").evaluate("field => field.validationMessage")
        return objection

    def submit(self) -> None:
        """Press the button under the form."""
        with self.page.expect_response(re.compile("/ui/schemas/validate$")):
            self.main.get_by_role("button", name="Submit").click()

    def start(self) -> str:
        """Send the form; the id of the run it made."""
        return str(self._taken("/create_flow_run$", self.submit).json()["id"])

    def complaint(self) -> str:
        """What the page says about a form it does not take."""
        toast = self.page.locator("[data-sonner-toast]").last
        expect(toast).to_be_visible()
        return toast.inner_text()

    def open_run(self, name: str) -> None:
        """Find a flow run in the list by its name and open it."""
        self.go("Runs")
        self._follow(name, self.main.get_by_role("tab", name="Logs"))

    def _follow(self, name: str, there: Locator) -> None:
        """Click a link of the list until the page it leads to is there: a list that is drawn anew swallows clicks."""
        link = self.main.get_by_role("link", name=name, exact=True).first
        expect(link.or_(there).first).to_be_visible()
        for _ in range(CLICKS):
            if link.is_visible():
                link.click()
            with suppress(AssertionError):
                expect(there).to_be_visible(timeout=CLICK_MS)
                return
        expect(there).to_be_visible()

    def tab(self, name: str) -> None:
        """Turn to a tab of the page."""
        self.main.get_by_role("tab", name=name, exact=True).click()

    def open_page(self, title: str) -> None:
        """Open one of the run's pages from its Artifacts tab, by a part of its description."""
        self.tab("Artifacts")
        self.main.get_by_role("link", name=re.compile(f"MARKDOWN.*{re.escape(title)}")).click()
        expect(self.main.get_by_role("heading", level=1)).to_be_visible()

    def show_run(self, run_id: str) -> None:
        """Go to a flow run among many of the same name."""
        self.page.goto(f"/v2/runs/flow-run/{run_id}")
        expect(self.main.get_by_role("tab", name="Logs")).to_be_visible()

    def retry(self) -> None:
        """Press Retry in the open run's menu and say yes."""
        self.ask_for_retry()
        self.confirm_retry()

    def ask_for_retry(self) -> None:
        """Press Retry in the open run's menu; the page asks whether one means it."""
        self._act("Retry")

    def confirm_retry(self) -> None:
        """Say yes."""
        self._confirm("Retry")

    def cancel(self) -> None:
        """Press Cancel in the open run's menu and say yes."""
        self._act("Cancel")
        self._confirm("Cancel Flow Run")

    def _act(self, entry: str) -> None:
        self.main.get_by_role("button", name="Open menu").first.click()
        self.page.get_by_role("menuitem", name=entry, exact=True).click()
        expect(self.page.get_by_role("alertdialog")).to_be_visible()

    def _confirm(self, button: str) -> None:
        self.page.get_by_role("alertdialog").get_by_role("button", name=button).click()
        expect(self.page.get_by_role("alertdialog")).to_be_hidden()
