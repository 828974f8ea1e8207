"""The command line `patra`."""

from flows.cli.main import main

__all__ = ["main"]
