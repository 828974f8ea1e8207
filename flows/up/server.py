"""Prefect's server with its garbage collected apart: on SQLite it would else stand still, a minute at a time.

The server works in one thread, and each connection to SQLite in one of its own. What a statement that found the
database locked leaves behind is garbage, and whichever thread collects it waits for the statement's connection. If that
connection waits for its turn to write, and whoever writes waits for the server's thread to let it go on, a collection
in that thread ends only when SQLite gives up, after sixty seconds.
"""

import gc
import runpy
import sys
import time
from threading import Thread
from typing import Any

import prefect.server.api.server as prefect_server
from starlette.types import ASGIApp

from deployments.visitors import OwnVisitors
from ingest_core.settings import load_settings

IN_MEMORY_HOST = "prefect-in-memory"
"""The host by which Prefect's services, such as the actions of automations, call the API of their own process."""

ROUND_SECONDS = 0.5
_ROUNDS = ((120, 2), (10, 1), (1, 0))
"""How many rounds apart each generation is collected: the oldest once a minute."""


def main() -> None:
    """Run `prefect server start` in this process."""
    _answer_own_visitors()
    gc.disable()
    Thread(target=_collect, name="garbage", daemon=True).start()
    sys.argv = ["prefect", "server", "start", *sys.argv[1:]]
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)


def _answer_own_visitors() -> None:
    """Have Prefect's server refuse other sites' pages: whoever reaches its API can run commands on this machine.

    `patra up` checks that it does: a Prefect that builds its application elsewhere would not be guarded.
    """
    build, others = prefect_server.create_app, load_settings().up_allowed_hosts

    def guarded(*arguments: Any, **options: Any) -> ASGIApp:
        remedy = "open it as 127.0.0.1 or localhost, or set PATRA_UP_ALLOWED_HOSTS"
        return OwnVisitors(build(*arguments, **options), others, remedy, in_process=IN_MEMORY_HOST)

    prefect_server.create_app = guarded  # type: ignore[assignment]  # served, it is only called


def _collect() -> None:
    number = 0
    while True:
        time.sleep(ROUND_SECONDS)
        number += 1
        gc.collect(next(generation for every, generation in _ROUNDS if number % every == 0))


if __name__ == "__main__":
    main()
