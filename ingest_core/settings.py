"""Settings: PATRA_* variables, typed."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ingest_core import __version__
from ingest_core.model.errors import BadInput

_UPSTREAM = "PATRA_UPSTREAM_"
_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_LOG_FORMATS = ("text", "json")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_REFERENCE = re.compile(r"(env|prefect):[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Settings:
    """Everything the environment may say."""

    home: Path = Path(".patra")
    database_url: str | None = None
    upstreams: Mapping[str, str] = field(default_factory=dict)
    log_level: str = "WARNING"
    log_format: str = "text"
    lease_ttl_seconds: int = 60
    slot_lease_seconds: int = 60
    total_concurrency: int = field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    """So many tasks at a time in all, over every partition."""
    contact: str | None = None
    max_queued: int = 100_000
    publisher: str | None = field(default=None, repr=False)
    """`file:PATH`, a URL, which may hold a token, or the name of an installed publisher."""
    webhook_secret: str | None = None
    """A reference, never the secret."""

    @property
    def default_database(self) -> Path:
        """The file that serves where no database is named."""
        return (self.home / "patra.db").absolute()

    @property
    def effective_database_url(self) -> str:
        """The database named, or the file in the home folder."""
        return self.database_url or f"sqlite:///{self.default_database}"

    @property
    def user_agent(self) -> str:
        """Who we are to a provider, and how to reach us where that is said."""
        contact = f" (mailto:{self.contact})" if self.contact else ""
        return f"patra-ingest/{__version__}{contact}"

    def upstream_for(self, source: str) -> str | None:
        """Another base URL for a source, if one is set."""
        return self.upstreams.get(source)


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this environment; a wrong value is named."""
    env = os.environ if environ is None else environ
    upstreams = {
        name.removeprefix(_UPSTREAM).lower(): _upstream(name, value)
        for name, value in env.items()
        if name.startswith(_UPSTREAM) and value
    }
    return Settings(
        home=Path(env.get("PATRA_HOME") or ".patra"),
        database_url=env.get("PATRA_DATABASE_URL") or None,
        upstreams=upstreams,
        log_level=_one_of(env, "PATRA_LOG_LEVEL", "WARNING", _LOG_LEVELS, str.upper),
        log_format=_one_of(env, "PATRA_LOG_FORMAT", "text", _LOG_FORMATS, str.lower),
        lease_ttl_seconds=_seconds(env, "PATRA_LEASE_TTL_SECONDS", 60),
        slot_lease_seconds=_seconds(env, "PATRA_SLOT_LEASE_SECONDS", 60, least=60),
        total_concurrency=_count(env, "PATRA_TOTAL_CONCURRENCY", 2 * (os.cpu_count() or 1), least=1),
        contact=env.get("PATRA_CONTACT") or None,
        max_queued=_count(env, "PATRA_MAX_QUEUED", 100_000),
        publisher=_publisher(env, "PATRA_PUBLISHER"),
        webhook_secret=_reference(env, "PATRA_WEBHOOK_SECRET"),
    )


def _upstream(name: str, value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise BadInput("SETTING_INVALID", f"{value!r} is not an http or https URL", where=name)
    return value


def _publisher(env: Mapping[str, str], name: str) -> str | None:
    """Whom messages go to; a URL is not repeated in an error, since it may hold a token."""
    value = env.get(name) or None
    if value is None or (value.startswith("file:") and len(value) > len("file:")) or _NAME.fullmatch(value):
        return value
    scheme, host = _split(value)
    if host and (scheme == "https" or (scheme == "http" and host in _LOOPBACK)):
        return value
    raise BadInput(
        "SETTING_INVALID",
        "it is none of file:PATH, an https URL, an http URL of this machine, and the name of a publisher",
        where=name,
    )


def _split(url: str) -> tuple[str, str]:
    """Scheme and host; empty for what is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.scheme, parts.hostname or ""


def _reference(env: Mapping[str, str], name: str) -> str | None:
    value = env.get(name) or None
    if value is not None and not _REFERENCE.fullmatch(value):  # it may be the secret itself: not shown
        raise BadInput(
            "SETTING_INVALID", "it is no reference", where=name, remedy="write env:NAME or prefect:NAME, not the secret"
        )
    return value


def _one_of(
    env: Mapping[str, str], name: str, default: str, allowed: tuple[str, ...], normal: Callable[[str], str]
) -> str:
    value = normal(env.get(name) or default)
    if value not in allowed:
        raise BadInput("SETTING_INVALID", f"{env[name]!r} is not one of {', '.join(allowed)}", where=name)
    return value


def _count(env: Mapping[str, str], name: str, default: int, least: int = 0) -> int:
    text = env.get(name) or str(default)
    if not text.isdecimal() or int(text) < least:
        above = f" above {least - 1}" if least else ""
        raise BadInput("SETTING_INVALID", f"{text!r} is not a whole number{above}", where=name)
    return int(text)


def _seconds(env: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    text = env.get(name) or str(default)
    if not text.isdecimal() or int(text) < least:
        raise BadInput("SETTING_INVALID", f"{text!r} is not a whole number of seconds above {least - 1}", where=name)
    return int(text)
