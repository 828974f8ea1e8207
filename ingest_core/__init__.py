"""The way of a record, from a source's configuration to a row: a library without Prefect."""

__version__ = "0.1.0"
