"""The library: from a source file to stored records, without Prefect. bootstrap.py wires it together."""

__version__ = "0.1.0"
