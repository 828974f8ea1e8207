"""One harvest in a process of its own: it tells its figures, and the bench reads them."""

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measured:
    """What one process did."""

    records: int
    seconds: float
    peak_mb: float

    @property
    def rate(self) -> float:
        """Records a second."""
        return self.records / self.seconds


def tell(records: int, seconds: float) -> None:
    """Print the figures of this process for the one that started it."""
    print(json.dumps({"records": records, "seconds": seconds, "peak_mb": peak_mb()}))


def peak_mb() -> float:
    """The peak of this process; `ru_maxrss` would be no less than that of the process it was started from."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (peak,) = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
    return int(peak) / 1024


def measure(module: str, *arguments: str) -> Measured:
    """Run a module of the bench and read what it tells."""
    return read([sys.executable, "-m", module, *arguments])


def read(command: Sequence[str]) -> Measured:
    """Run a command and read the figures in its last line."""
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Measured(**json.loads(answer.stdout.splitlines()[-1]))
