"""A file that is there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ingest_core.model.errors import BadInput

PART = ".part"


def refuse_existing(file: Path, *, force: bool) -> None:
    """An export is not written over what is there, unless that is wanted."""
    _refuse_other_kinds(file)
    if file.exists() and not force:
        raise BadInput("FILE_EXISTS", "it exists already", where=str(file), remedy="use --force, or another --output")


def _refuse_other_kinds(file: Path) -> None:
    """Only a regular file is replaced: a folder cannot be, and a device or FIFO would be lost."""
    if "\x00" in file.name or not file.name:
        raise _unwritable(file, "its name is not a file's")
    try:
        if file.is_dir():
            raise BadInput("FILE_UNWRITABLE", "it is a folder", where=str(file), remedy="name a file")
        if file.exists() and not file.is_file():
            raise BadInput("FILE_UNWRITABLE", "it is not a regular file", where=str(file), remedy="name a file")
    except OSError as error:  # a name too long, a folder that may not be read
        raise _unwritable(file, error) from error


@contextmanager
def whole_file(file: Path) -> Iterator[BinaryIO]:
    """The file under another name; it gets its own at the end of the block, and an interrupted one is removed."""
    _refuse_other_kinds(file)
    part = file.with_name(file.name + PART)
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)
    except OSError as error:
        raise _unwritable(file, error) from error
    finally:
        with suppress(OSError):  # it was never made: its name is too long, or what should be its folder is a file
            part.unlink(missing_ok=True)


def _unwritable(file: Path, error: OSError | str) -> BadInput:
    remedy = "name a file in a folder that exists and can be written"
    reason = error if isinstance(error, str) else error.strerror or str(error)
    return BadInput("FILE_UNWRITABLE", reason, where=str(file), remedy=remedy)
