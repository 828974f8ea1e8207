"""Where messages are sent: a file, a web address, or an installed publisher."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ingest_core.execution.ports import CredentialMissing, NotSent
from ingest_core.model.errors import BadInput, Unreachable
from ingest_core.outbox.ports import Publisher
from ingest_core.transport.credentials import Secrets
from ingest_core.transport.file_publisher import FilePublisher
from ingest_core.transport.installed import installed
from ingest_core.transport.webhook import WebhookPublisher

PUBLISHER_GROUP = "patra.publishers"
"""The entry points under which others install publishers."""

PublisherFactory = Callable[[Callable[[str], str]], Publisher]
"""Gets a way to read secrets by reference; gives the publisher."""

SHORTEST_SECRET = 16
"""Characters of a webhook's secret: whoever sees one signed request can try short ones until the signature fits."""

_FILE = "file:"


@contextmanager
def open_publisher(name: str | None, secret_ref: str | None, secrets: Secrets, user_agent: str) -> Iterator[Publisher]:
    """The publisher that PATRA_PUBLISHER names."""
    if name is None:
        raise BadInput(
            "PUBLISHER_MISSING",
            "no publisher is set",
            where="PATRA_PUBLISHER",
            remedy="set it to file:PATH, an https URL or the name of an installed publisher",
        )
    if name.startswith(_FILE):
        yield FilePublisher(Path(name.removeprefix(_FILE)))
    elif "://" in name:
        with closing(WebhookPublisher(name, _webhook_secret(secret_ref, secrets), user_agent)) as webhook:
            yield webhook
    else:
        publisher = _installed(name, secrets)
        try:
            yield publisher
        finally:
            getattr(publisher, "close", lambda: None)()


def _webhook_secret(reference: str | None, secrets: Secrets) -> str:
    """The secret requests are signed with: an unsigned one could be anybody's."""
    if reference is None:
        raise BadInput(
            "WEBHOOK_SECRET_MISSING",
            "a webhook's requests are signed, and there is no secret",
            where="PATRA_WEBHOOK_SECRET",
            remedy="set it to a reference, such as env:MY_SECRET",
        )
    try:
        secret = secrets.read(reference)
    except CredentialMissing as error:
        raise BadInput("WEBHOOK_SECRET_MISSING", str(error), where="PATRA_WEBHOOK_SECRET") from None
    except NotSent as error:
        raise Unreachable("WEBHOOK_SECRET_UNREACHABLE", str(error), where="PATRA_WEBHOOK_SECRET") from None
    if len(secret) < SHORTEST_SECRET:
        raise BadInput(
            "WEBHOOK_SECRET_SHORT",
            f"the secret {reference!r} has fewer than {SHORTEST_SECRET} characters and could be guessed",
            where="PATRA_WEBHOOK_SECRET",
            remedy="use a random one, such as `openssl rand -hex 32` prints, here and at the receiver",
        )
    return secret


def _installed(name: str, secrets: Secrets) -> Publisher:
    factory = _factory(name)
    try:
        return factory(secrets.read)
    except (CredentialMissing, NotSent) as error:
        raise _unusable(name, str(error)) from None
    except Exception as error:
        # Others' code: what it raises may hold the secret it was given, so only the kind is shown.
        raise _unusable(name, type(error).__name__) from None


def _unusable(name: str, why: str) -> BadInput:
    return BadInput("PUBLISHER_UNUSABLE", f"the publisher {name!r} cannot be opened: {why}", where="PATRA_PUBLISHER")


def _factory(name: str) -> PublisherFactory:
    found = {entry.name: entry for entry in installed(PUBLISHER_GROUP)}
    if name not in found:
        raise BadInput(
            "PUBLISHER_UNKNOWN",
            f"no publisher {name!r} is installed",
            where="PATRA_PUBLISHER",
            remedy=f"installed are: {', '.join(sorted(found)) or 'none'} (entry points of group {PUBLISHER_GROUP})",
        )
    try:
        factory: PublisherFactory = found[name].load()
    except Exception as error:
        raise _unusable(name, f"{type(error).__name__}: {error}") from error
    return factory
