"""Settings: PATRA_* variables, typed."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ingest_core import __version__
from ingest_core.model.credential_names import SHIPPED, SHIPPED_NAMES, CredentialNames, is_entry, is_reserved
from ingest_core.model.errors import BadInput
from ingest_core.model.web_address import address_problem
from ingest_core.model.whole_number import LARGEST_COUNT, whole_number

_UPSTREAM = "PATRA_UPSTREAM_"
_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_LOG_FORMATS = ("text", "json")
MOST_SECONDS = 7 * 86_400
"""The longest lease: after a crash, its task waits that long."""
MOST_TASKS = 10_000
SHOWN_CHARS = 100
MOST_CONTACT_CHARS = 254

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_HOST = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = re.compile(rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@(?:{_LABEL}\.)+{_LABEL}")
_REFERENCE = re.compile(r"(env|prefect):[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Settings:
    """All settings, with their defaults. The docstring of a field is its sentence in docs/reference/settings.md."""

    home: Path = Path(".patra")
    """The folder of the default database `patra.db`, of `demo.db`, and of the files of `patra up`. It is created if
    needed."""
    database_url: str | None = field(default=None, repr=False)
    """The [database](#database-urls). Default: the file `patra.db` in the home folder. The URL may hold a password: it
    is shown without it."""
    upstreams: Mapping[str, str] = field(default_factory=dict)
    """Another base URL for the source of that code, such as `PATRA_UPSTREAM_CROSSREF`, with `http://` or `https://`. It
    replaces the base URL of the source file and leaves the path."""
    log_level: str = "WARNING"
    """`DEBUG`, `INFO`, `WARNING` or `ERROR`. Log lines go to stderr. Above `DEBUG`, the HTTP and migration libraries
    log warnings only."""
    log_format: str = "text"
    """`text`, or `json` for one JSON object per line with `time`, `level`, `logger`, `message` and, with an exception,
    `exception`."""
    lease_ttl_seconds: int = 60
    """How long the lease of a task lasts without renewal: 1 to 604,800 s. After a crash, the task waits that long."""
    slot_lease_seconds: int = 60
    """How long the slot of a dead executor stays taken: 60 to 604,800 s; Prefect allows no less than 60."""
    total_concurrency: int = field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    """Maximum concurrent tasks over all partitions: 1 to 10,000. With more than one machine, set the same value on
    each."""
    contact: str | None = None
    """An e-mail address for providers; other text is refused. It is sent in
    `User-Agent: patra-ingest/<version> (mailto:<address>)`, and wherever a source file has `{contact}`. Some providers
    serve such clients faster; NCBI asks for it."""
    max_queued: int = 100_000
    """Maximum queued tasks over all partitions: a plan with more is `PARTIAL`, see
    [stock](../explanation/planning.md#stock). `0` is unlimited."""
    publisher: str | None = field(default=None, repr=False)
    """Where messages about changed records are sent: `file:PATH`, an https URL (http on this machine only), or the name
    of an installed publisher; see [outbox](../how-to/outbox.md). Without it no messages are written. A URL may hold a
    token: it is never shown."""
    up_allowed_hosts: tuple[str, ...] = ()
    """Further values of the `Host` header that [`patra up`](cli.md#who-may-reach-it) accepts, separated by commas, such
    as `patra.example.org,localhost:8080`: as a browser sends them, with the port unless it is the scheme's own. Needed
    behind a proxy, or through a tunnel with another port."""
    webhook_secret: str | None = None
    """A reference to the secret that signs webhook requests: `env:NAME` or `prefect:NAME`, never the secret itself.
    Needed if `PATRA_PUBLISHER` is a URL. The secret has at least 16 characters."""
    allow_private_addresses: bool = False
    """`1` allows source files to name hosts at addresses that are not public; see [below](#private-addresses)."""
    credential_names: CredentialNames = SHIPPED_NAMES
    """The secrets that source files may use in addition to those of the shipped sources: names of variables (`env:`)
    and of Secret blocks (`prefect:`), separated by commas; an entry that ends in `*` is a prefix. See
    [secrets](#secrets)."""

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
    _refuse_unreadable(env)
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
        total_concurrency=_count(env, "PATRA_TOTAL_CONCURRENCY", 2 * (os.cpu_count() or 1), least=1, most=MOST_TASKS),
        contact=_contact(env, "PATRA_CONTACT"),
        max_queued=_count(env, "PATRA_MAX_QUEUED", 100_000),
        publisher=_publisher(env, "PATRA_PUBLISHER"),
        up_allowed_hosts=_hosts(env, "PATRA_UP_ALLOWED_HOSTS"),
        webhook_secret=_reference(env, "PATRA_WEBHOOK_SECRET"),
        allow_private_addresses=_one_of(env, "PATRA_ALLOW_PRIVATE_ADDRESSES", "0", ("0", "1"), str.strip) == "1",
        credential_names=_credential_names(env, "PATRA_CREDENTIAL_NAMES"),
    )


def _refuse_unreadable(env: Mapping[str, str]) -> None:
    """BadInput for a setting that is no text: no statement, header or terminal could take it later."""
    for name, value in env.items():
        if name.startswith("PATRA_") and not value.isprintable():
            message = "it holds a control character, or bytes that are not UTF-8"
            raise BadInput("SETTING_INVALID", message, where=name, remedy="write it as UTF-8 text on one line")


def _upstream(name: str, value: str) -> str:
    problem = address_problem(value, ("http", "https"))
    if problem:
        shown = "it" if "@" in value else repr(_short(value))  # which may hold a password
        raise BadInput("SETTING_INVALID", f"{shown} is not an http or https URL: {problem}", where=name)
    return value


def _hosts(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Names or addresses with or without a port, as a browser sends them; never a pattern."""
    hosts = tuple(one.strip().lower() for one in (env.get(name) or "").split(",") if one.strip())
    wrong = next((one for one in hosts if not _HOST.fullmatch(one)), None)
    if wrong is not None:
        raise BadInput(
            "SETTING_INVALID",
            f"{_short(wrong)!r} is not a host",
            where=name,
            remedy="write names as browsers send them, separated by commas: patra.example.org,localhost:8080",
        )
    return hosts


def _publisher(env: Mapping[str, str], name: str) -> str | None:
    """Whom messages go to; a URL is not repeated in an error, since it may hold a token."""
    value = env.get(name) or None
    if value is None or (value.startswith("file:") and len(value) > len("file:")) or _NAME.fullmatch(value):
        return value
    scheme, host = _split(value)
    if address_problem(value, ("https", "http")) is None and (
        scheme == "https" or (scheme == "http" and host in _LOOPBACK)
    ):
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


def _contact(env: Mapping[str, str], name: str) -> str | None:
    """An e-mail address that the User-Agent header can carry."""
    value = env.get(name) or None
    if value is not None and (not _EMAIL.fullmatch(value) or len(value) > MOST_CONTACT_CHARS):
        message = f"{_short(value)!r} is not an e-mail address of at most {MOST_CONTACT_CHARS} ASCII characters"
        raise BadInput("SETTING_INVALID", message, where=name, remedy="write it as you@example.org")
    return value


def _reference(env: Mapping[str, str], name: str) -> str | None:
    value = env.get(name) or None
    if value is not None and not _REFERENCE.fullmatch(value):  # it may be the secret itself: not shown
        raise BadInput(
            "SETTING_INVALID", "it is no reference", where=name, remedy="write env:NAME or prefect:NAME, not the secret"
        )
    return value


def _credential_names(env: Mapping[str, str], name: str) -> CredentialNames:
    """The shipped sources' names and those that are listed."""
    listed = [entry.strip() for entry in (env.get(name) or "").split(",") if entry.strip()]
    for entry in listed:
        if not is_entry(entry):
            remedy = "list names, or prefixes that end in *, separated by commas: MUSEUM_API_KEY,LIBRARY_*"
            raise BadInput("SETTING_INVALID", f"{entry[:64]!r} is not a name or a prefix", where=name, remedy=remedy)
        if is_reserved(entry):
            message = f"{entry!r} is a setting of Patra or Prefect, which no source may read"
            raise BadInput("SETTING_INVALID", message, where=name, remedy="leave it out; give the secret another name")
    return CredentialNames((*SHIPPED, *(entry for entry in listed if entry not in SHIPPED)))


def _one_of(
    env: Mapping[str, str], name: str, default: str, allowed: tuple[str, ...], normal: Callable[[str], str]
) -> str:
    value = normal(env.get(name) or default)
    if value not in allowed:
        raise BadInput("SETTING_INVALID", f"{_short(env[name])!r} is not one of {', '.join(allowed)}", where=name)
    return value


def _count(env: Mapping[str, str], name: str, default: int, least: int = 0, most: int = LARGEST_COUNT) -> int:
    return _number(env, name, default, least, most, "a whole number")


def _seconds(env: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    return _number(env, name, default, least, MOST_SECONDS, "a whole number of seconds")


def _number(env: Mapping[str, str], name: str, default: int, least: int, most: int, kind: str) -> int:
    text = env.get(name) or str(default)
    number = whole_number(text)
    if number is None or not least <= number <= most:
        above = f" above {least - 1}" if least else ""
        message = f"{_short(text)!r} is not {kind}{above}, at most {most:,}"
        raise BadInput("SETTING_INVALID", message, where=name)
    return number


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "…"
