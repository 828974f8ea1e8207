"""Web addresses of source files and settings, checked before anything is sent to them.

What this accepts, the HTTP client, the resolver and IDNA accept too: none of them fails later for its form.
"""

import re
from collections.abc import Collection
from ipaddress import IPv6Address

MOST_CHARS = 2_000
MOST_HOST_CHARS = 253
LAST_PORT = 65_535

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_PORT = re.compile(r"[0-9]{1,5}")
_END = re.compile(r"[/?#]")
_UNSAFE = re.compile(r"[^\x21-\x7e]|[\\^`{|}<>\"]")


def address_problem(url: str, schemes: Collection[str]) -> str | None:
    """The problem of a URL, in words that repeat nothing of it; None where it has none."""
    if len(url) > MOST_CHARS:
        return f"it is longer than {MOST_CHARS:,} characters"
    if _UNSAFE.search(url):
        return "it holds a space, a control character or one that a URL must encode"
    scheme, _, rest = url.partition("://")
    if scheme not in schemes:
        return f"it does not begin with {' or '.join(f'{scheme}://' for scheme in schemes)}"
    host, port = _split(_END.split(rest, maxsplit=1)[0].rpartition("@")[2])
    if not _is_host(host):
        return "its host is not a name of letters, digits, - and ., or an IP address"
    if port is not None and not (_PORT.fullmatch(port) and 0 < int(port) <= LAST_PORT):
        return f"its port is not a number from 1 to {LAST_PORT}"
    return None


def _split(authority: str) -> tuple[str, str | None]:
    """Host and port; an IPv6 address keeps its brackets."""
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        return host + bracket, rest[1:] if rest.startswith(":") else (rest or None)
    host, colon, port = authority.partition(":")
    return host, port if colon else None


def _is_host(host: str) -> bool:
    if host.startswith("["):
        try:
            IPv6Address(host.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return host.endswith("]") and "%" not in host
    return len(host) <= MOST_HOST_CHARS and _HOST.fullmatch(host) is not None
