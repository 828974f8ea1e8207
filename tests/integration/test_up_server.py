"""The room's Prefect server: what it is asked to do, and who collects its garbage."""

import subprocess
import sys

ROOM = """
import gc, runpy, sys, threading, time, weakref
from flows.up import server as up_server

class Knot:
    pass

def run_module(name, **_):
    knot, seen = Knot(), []
    knot.itself = knot
    weakref.finalize(knot, lambda: seen.append(threading.current_thread().name))
    del knot
    kept = [[] for _ in range(100_000)]  # by itself, Python would collect at once
    deadline = time.monotonic() + 30
    while not seen and time.monotonic() < deadline:
        time.sleep(0.1)
    print(name, *sys.argv, *seen)

runpy.run_module = run_module
up_server.main()
"""


def test_prefects_server_runs_with_its_garbage_collected_by_a_thread_of_its_own() -> None:
    command = [sys.executable, "-c", ROOM, "--port", "4271"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["prefect", "prefect", "server", "start", "--port", "4271", "garbage"]
