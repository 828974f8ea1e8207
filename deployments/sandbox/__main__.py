"""Runs a sandbox until it is interrupted; the first line on stdout is its base URL."""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime

from deployments.sandbox.providers import PROVIDERS
from deployments.sandbox.server import base_url, bind, build_server
from deployments.sandbox.settings import ScrollMode, Settings


def read_arguments(arguments: Sequence[str] | None = None) -> tuple[Settings, bool]:
    """The settings asked for, and whether to say nothing but the URL."""
    usual = Settings()
    parser = argparse.ArgumentParser(prog="python -m deployments.sandbox", description=__doc__)
    parser.add_argument("--host", default=usual.host)
    parser.add_argument("--port", type=int, default=usual.port, help="0 picks a free port")
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="HOST[:PORT]", help="answer requests to this Host too"
    )
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--works", type=int, default=usual.works)
    parser.add_argument("--until", type=_moment, default=usual.until, metavar="ISO", help="the end of the index times")
    parser.add_argument("--days", type=float, default=usual.days, help="how far before --until they begin")
    parser.add_argument(
        "--busy", type=_busy_day, action="append", default=[], metavar="DAY=WORKS", help="how many of --works are its"
    )
    parser.add_argument("--scroll", type=ScrollMode, choices=list(ScrollMode), default=usual.scroll)
    parser.add_argument("--scroll-ttl", type=float, default=usual.scroll_ttl_seconds, metavar="SECONDS")
    parser.add_argument("--rate-limit", type=int, default=None, metavar="N", help="requests a second, then 429")
    parser.add_argument(
        "--keep-pages", type=int, default=usual.kept_pages, metavar="N", help="Crossref's pages kept ready to send"
    )
    parser.add_argument(
        "--reach", type=int, default=usual.reach, metavar="N", help="the most records of a result reached by position"
    )
    parser.add_argument("--quiet", action="store_true", help="print the base URL and nothing else")
    given = vars(parser.parse_args(arguments))
    quiet = given.pop("quiet")
    busy, ttl, limit = dict(given.pop("busy")), given.pop("scroll_ttl"), given.pop("rate_limit")
    kept, hosts = given.pop("keep_pages"), tuple(given.pop("allow_host"))
    chosen = Settings(
        **given, busy=busy, scroll_ttl_seconds=ttl, rate_limit_per_second=limit, kept_pages=kept, allowed_hosts=hosts
    )
    return chosen, quiet


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted."""
    settings, quiet = read_arguments(arguments)
    listener = bind(settings)
    url = base_url(listener)

    def announce() -> None:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        if not quiet:
            sources = ", ".join(f"{url}/{name}" for name in PROVIDERS)
            sys.stderr.write(f"sandbox of {settings.works} works, seed {settings.seed}: {sources}\n")

    with contextlib.suppress(KeyboardInterrupt):
        build_server(settings, announce).run(sockets=[listener])


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _busy_day(text: str) -> tuple[date, int]:
    day, _, works = text.partition("=")
    return date.fromisoformat(day), int(works)


if __name__ == "__main__":
    main()
