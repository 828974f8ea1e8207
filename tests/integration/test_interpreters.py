"""What only an interpreter of its own shows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.golden_hashes import all_hashes

ROOT = Path(__file__).parents[2]

IN_A_NEW_INTERPRETER = """
import json, sys
from tests.support.golden_hashes import all_hashes
json.dump(all_hashes(), sys.stdout)
"""

RUN = """
import json, resource
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from tests.support.hostile_mappings import costs
print(json.dumps([costs(10_000), costs(40_000)]))
"""


@pytest.mark.parametrize("seed", ["1", "4711"])
def test_another_interpreter_finds_the_same_hashes(seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", IN_A_NEW_INTERPRETER]
    result = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)

    assert json.loads(result.stdout) == all_hashes()


def test_commands_that_write_no_tables_do_not_load_pandas() -> None:
    script = "import flows.cli.main, ingest_core.bootstrap, sys; print({'pandas', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_no_function_takes_quadratic_time_or_memory() -> None:
    # 2 GiB of memory are allowed. At 40,000 characters what was quadratic took 2.5 s and more; what is linear takes
    # milliseconds, and a pattern is given up after 1 s.
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    small, large = json.loads(done.stdout)
    assert {case: (small[case], seconds) for case, seconds in large.items() if seconds > 1.5} == {}
