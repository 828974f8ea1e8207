"""Files named on the command line: regular ones, read up to a size, and written whole or not at all."""

import os
import stat
import sys
from pathlib import Path

from ingest_core.model.errors import BadInput
from ingest_core.readside.output_file import whole_file


def read_file(file: Path, max_bytes: int) -> str:
    """A file's UTF-8 text; BadInput for one that is not regular, too large, or cannot be read."""
    try:
        # Opening a FIFO would wait for its writer, and a device may never end.
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise _unreadable(file, "it is not a regular file")
            return _text(stream.read(max_bytes + 1), file, max_bytes)
    except OSError as error:
        raise _unreadable(file, error.strerror or type(error).__name__) from error
    except ValueError as error:  # a NUL in its name
        raise _unreadable(file, "its name is not a path") from error


def is_file(name: str) -> bool:
    """Whether a file of that name can be read; no for what cannot be a name."""
    try:
        return Path(name).is_file()
    except OSError:
        return False


def read_stdin(max_bytes: int) -> str:
    """All of standard input as UTF-8 text."""
    try:
        return _text(sys.stdin.buffer.read(max_bytes + 1), Path("-"), max_bytes)
    except OSError as error:
        raise _unreadable(Path("-"), error.strerror or type(error).__name__) from error


def _text(content: bytes, file: Path, max_bytes: int) -> str:
    if len(content) > max_bytes:
        raise _unreadable(file, f"it is larger than {max_bytes:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unreadable(file, "it is not UTF-8 text") from error


def _unreadable(file: Path, reason: str) -> BadInput:
    remedy = "name a text file"
    return BadInput("FILE_UNREADABLE", f"cannot be read: {reason}", where=str(file), remedy=remedy)


def write_file(file: Path, text: str) -> None:
    """Write a file, whole or not at all; BadInput when it cannot be written."""
    with whole_file(file) as stream:
        stream.write(text.encode())
