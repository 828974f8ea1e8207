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

ROUND_SECONDS = 0.5
_ROUNDS = ((120, 2), (10, 1), (1, 0))
"""How many rounds apart each generation is collected: the oldest once a minute."""


def main() -> None:
    """Run `prefect server start` in this process."""
    gc.disable()
    Thread(target=_collect, name="garbage", daemon=True).start()
    sys.argv = ["prefect", "server", "start", *sys.argv[1:]]
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)


def _collect() -> None:
    number = 0
    while True:
        time.sleep(ROUND_SECONDS)
        number += 1
        gc.collect(next(generation for every, generation in _ROUNDS if number % every == 0))


if __name__ == "__main__":
    main()
