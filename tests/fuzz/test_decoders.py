"""Some seconds of coverage-guided fuzzing; longer runs are started by hand, as `decoders.py` says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 30


@pytest.mark.long
def test_no_input_breaks_the_law_of_decoding(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="has no wheel for this Python or platform")
    options = [f"-max_total_time={SECONDS}", f"-artifact_prefix={tmp_path}/", "-print_final_stats=1"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.decoders", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS * 6,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    (tried,) = re.findall(r"stat::number_of_executed_units: (\d+)", done.stderr)
    assert int(tried) > 500
