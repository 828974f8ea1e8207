"""Secrets by reference: `env:NAME` from the environment, other kinds from readers that are plugged in."""

import os
from collections.abc import Callable, Mapping

from ingest_core.execution.ports import CredentialMissing, CredentialRefused, NotSent
from ingest_core.model.credential_names import CredentialNames, how_to_allow

SecretReader = Callable[[str], str | None]


class Secrets:
    """Resolves references when a request is sent, never earlier.

    `allowed` are the names that may be read; None allows all, for references that come from the operator alone.
    """

    def __init__(self, readers: Mapping[str, SecretReader] | None, allowed: CredentialNames | None) -> None:
        self._allowed = allowed
        self._readers: dict[str, SecretReader] = {"env": os.environ.get, **(readers or {})}

    def read(self, reference: str) -> str:
        """The secret; CredentialMissing says which one is not there."""
        secret = self.find(reference)
        if not secret:
            kind, _, name = reference.partition(":")
            place = f"set the environment variable {name}" if kind == "env" else f"create the {kind} block {name!r}"
            raise CredentialMissing(f"the credential {reference!r} is not there: {place}")
        return secret

    def find(self, reference: str | None) -> str | None:
        """The secret, or none; CredentialRefused for a name that is not allowed, NotSent when its place is away."""
        if not reference:
            return None
        kind, _, name = reference.partition(":")
        reader = self._readers.get(kind)
        if reader is None:
            raise CredentialMissing(f"nothing here reads credentials of kind {kind!r} ({reference!r})")
        if self._allowed is not None and not self._allowed.allow(reference):
            raise CredentialRefused(f"the credential {reference!r} is not allowed: {how_to_allow(reference)}")
        try:
            secret = reader(name)
        except (CredentialMissing, NotSent):
            raise
        except Exception as error:
            raise NotSent(f"the credential {reference!r} cannot be read now: {type(error).__name__}") from error
        return (secret or "").strip("\r\n") or None
