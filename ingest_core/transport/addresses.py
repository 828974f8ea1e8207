"""Which addresses a source may be at."""

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv6 addresses that a gateway translates to the IPv4 address in their last four bytes (RFC 6052)."""

_GLOBAL_UNICAST = IPv6Network("2000::/3")
"""The IPv6 addresses that are given out; others stand for IPv4 ones, are local to a site, or are reserved."""

SETTING = "PATRA_ALLOW_PRIVATE_ADDRESSES"


class PrivateAddress(Exception):
    """A host that is at an address which is not public, and may not be asked."""


def public_addresses(host: str, port: int) -> list[str]:
    """The host's public addresses; PrivateAddress where it has others only, OSError where it has none."""
    found = resolve(host, port)
    public = [address for address in found if is_public(address)]
    if not public:
        place = host if host == found[0] else f"{host}, at {found[0]},"
        raise PrivateAddress(f"{place} is not at a public address ({SETTING})")
    return public


def resolve(host: str, port: int) -> list[str]:
    """The host's addresses, each once, in the resolver's order."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label that is empty or too long
        raise OSError(f"{host!r} is no host name: {error}") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: str) -> bool:
    """Whether an address belongs to the public internet, also the IPv4 address that an IPv6 one stands for."""
    parsed = ip_address(address)
    inner = _within(parsed)
    if isinstance(parsed, IPv6Address) and not inner and parsed not in _GLOBAL_UNICAST:
        return False
    return all(one.is_global and not one.is_multicast for one in (parsed, *inner))


def is_private_literal(host: str) -> bool:
    """Whether a host is written as an address that is not public, or is this machine's own name."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not is_public(name)
    except ValueError:
        pass
    try:
        return not is_public(socket.inet_ntoa(socket.inet_aton(name)))  # resolvers know 127.1 and 0x7f000001 too
    except (OSError, UnicodeError):
        return False


def _within(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    if isinstance(address, IPv4Address):
        return []
    last = IPv4Address(int(address) & 0xFFFF_FFFF)
    found = [address.ipv4_mapped, address.sixtofour, last if address in _TRANSLATED else None]
    return [one for one in found if one is not None]
