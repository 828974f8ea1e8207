"""The commands of `patra`."""

from flows.cli.main import main

__all__ = ["main"]
