"""One harvest in a process of its own: it tells its figures, and the bench reads them."""

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass


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
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"records": records, "seconds": seconds, "peak_mb": peak_mb}))


def measure(module: str, *arguments: str) -> Measured:
    """Run a module of the bench and read what it tells."""
    return read([sys.executable, "-m", module, *arguments])


def read(command: Sequence[str]) -> Measured:
    """Run a command and read the figures in its last line."""
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Measured(**json.loads(answer.stdout.splitlines()[-1]))
