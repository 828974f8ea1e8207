"""Coverage-guided fuzzing of the decoders, from real answers: `python -m tests.fuzz.decoders [libFuzzer options]`.

The first byte of an input chooses the source it is an answer of. libFuzzer's options bound each input's time and
memory; what breaks the law of `tests.models.decoding_law` ends the run with the input written to a file.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["ingest_core.execution", "ingest_core.model", "ingest_core.registry"]):
    from tests.models.decoding_law import check, seeds, specs

LIMITS = ["-timeout=20", "-rss_limit_mb=1024", "-max_len=40000"]


def try_one(data: bytes) -> None:
    """Decode one input."""
    if data:
        check(data[1:], specs()[data[0] % len(specs())])


def main() -> None:
    """Fuzz from the seeds, each as an answer of every source."""
    specs()
    with tempfile.TemporaryDirectory() as corpus:
        for number, body in enumerate(seeds()):
            for source in range(len(specs())):
                (Path(corpus) / f"{number}-{source}").write_bytes(bytes([source]) + body)
        atheris.Setup([sys.argv[0], *LIMITS, *sys.argv[1:], corpus], try_one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
