"""Messages into a file, one JSON document a line."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ingest_core.model.message import Message, wire_json
from ingest_core.outbox.ports import PublisherUnavailable

_OURS = b'{"dedup_key":'
_BLOCK = 64 * 1024


class FilePublisher:
    """A Publisher that appends; several relays of one machine may share the file.

    A line is whole once its line break is there. What a crash left of one is cut off before the next is written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def publish(self, messages: Sequence[Message]) -> None:
        """Append a line for each, and return when they are on disk."""
        lines = b"".join(wire_json(message.json()) + b"\n" for message in messages)
        try:
            with _locked_file(self._path) as file:
                _append(file, lines)
        except OSError as error:
            raise PublisherUnavailable(f"{self._path} cannot be written: {error.strerror or error}") from error


@contextmanager
def _locked_file(path: Path) -> Iterator[int]:
    """The file, made if need be, for us alone."""
    new = not path.exists()
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        if new:
            _sync_folder(path.parent)
        yield file
    finally:
        os.close(file)


def _sync_folder(folder: Path) -> None:
    """A new file's name must be on disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _append(file: int, lines: bytes) -> None:
    end = _end_of_lines(file)
    os.ftruncate(file, end)
    try:
        rest = memoryview(lines if _begins_a_line(file, end) else b"\n" + lines)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, end)
        raise


def _end_of_lines(file: int) -> int:
    """Where the last whole line ends; or the file, where its last line is not one of ours."""
    size = start = os.fstat(file).st_size
    while start and not _begins_a_line(file, start):
        block = os.pread(file, min(_BLOCK, start), max(start - _BLOCK, 0))
        start = start - len(block) + block.rfind(b"\n") + 1
    return start if _OURS.startswith(os.pread(file, len(_OURS), start)) else size


def _begins_a_line(file: int, position: int) -> bool:
    return position == 0 or os.pread(file, 1, position - 1) == b"\n"
