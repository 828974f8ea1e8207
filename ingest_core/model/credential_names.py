"""Which secrets a source file may refer to: the names an operator allowed, never a setting of Patra or Prefect.

A source file decides where a request goes. Without this list it could name any variable of the process, such as
PATRA_DATABASE_URL, and have it sent there.
"""

import re
from dataclasses import dataclass

SETTING = "PATRA_CREDENTIAL_NAMES"
SHIPPED = (
    "DATACITE_PASSWORD",
    "DATACITE_USERNAME",
    "NCBI_API_KEY",
    "OPENALEX_API_KEY",
    "SEMANTIC_SCHOLAR_API_KEY",
    "ZENODO_TOKEN",
)
"""The names of the shipped sources, allowed without a setting."""

_RESERVED = ("PATRA_", "PREFECT_")
_ENTRY = re.compile(r"[A-Za-z0-9_.-]+\*?")


@dataclass(frozen=True)
class CredentialNames:
    """Names, and prefixes that end in `*`; the same list is for variables (`env:`) and blocks (`prefect:`)."""

    entries: tuple[str, ...] = SHIPPED

    def allow(self, reference: str) -> bool:
        """Whether a source may use what `env:NAME` or `prefect:NAME` refers to."""
        name = reference.partition(":")[2]
        return not is_reserved(name) and any(_matches(entry, name) for entry in self.entries)


SHIPPED_NAMES = CredentialNames()


def is_reserved(name: str) -> bool:
    """Whether the name is one of Patra's or Prefect's own settings, which no source may read."""
    return name.upper().startswith(_RESERVED)


def is_entry(text: str) -> bool:
    """Whether the text is a name, or a prefix that ends in `*`."""
    return _ENTRY.fullmatch(text) is not None


def how_to_allow(reference: str) -> str:
    """What to do about a reference that is not allowed."""
    name = reference.partition(":")[2]
    if is_reserved(name):
        return f"use another name: {' and '.join(f'{one}*' for one in _RESERVED)} are never read for a source"
    return f"add {name} to {SETTING}, in the environment of every command and worker"


def _matches(entry: str, name: str) -> bool:
    return name.startswith(entry[:-1]) if entry.endswith("*") else name == entry
