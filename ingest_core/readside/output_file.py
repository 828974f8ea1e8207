"""A file that is there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ingest_core.model.errors import BadInput

PART = ".part"


def refuse_existing(file: Path, *, force: bool) -> None:
    """An export is not written over what is there, unless that is wanted."""
    if file.is_dir():
        raise BadInput("FILE_UNWRITABLE", "it is a folder", where=str(file), remedy="name a file")
    if file.exists() and not force:
        raise BadInput("FILE_EXISTS", "it exists already", where=str(file), remedy="use --force, or another --output")


@contextmanager
def whole_file(file: Path) -> Iterator[BinaryIO]:
    """The file under another name; it gets its own at the end of the block, and an interrupted one is removed."""
    part = file.with_name(file.name + PART)
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)
    except OSError as error:
        remedy = "name a file in a folder that exists and can be written"
        raise BadInput("FILE_UNWRITABLE", f"{error.strerror or error}", where=str(file), remedy=remedy) from error
    finally:
        part.unlink(missing_ok=True)
