"""An answer's body: one content coding, taken off piece by piece under a limit."""

import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import httpx

ACCEPTED_CODINGS = "gzip, deflate"
"""What requests say they accept: exactly what is decoded here."""

PIECE_BYTES = 64 * 1024
"""The most that is decompressed in one step: a limit is checked between steps, whatever the compression ratio."""

MAX_MEMBERS = 10_000
"""The most gzip members of a body: empty ones cost time and add nothing to its size."""

_SHOWN_CHARS = 100
_ZLIB_HEAD_BYTES = 2


class BodyRefused(Exception):
    """A body that would be refused again if it were asked for again; `code` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class BodyBroken(Exception):
    """A body that is not what its coding says: cut, or garbled."""


def read_body(answer: httpx.Response, limit: int, setting: str) -> bytes:
    """The whole body without its coding; BodyRefused or BodyBroken otherwise, never a part of it.

    The limit, in bytes, holds for the body on the wire and for the body without its coding. Memory stays near it.
    """
    body = io.BytesIO()
    for piece in _decoder(answer.headers)(_bounded(answer, limit, setting)):
        if body.tell() + len(piece) > limit:
            raise _too_large(limit, setting)
        body.write(piece)
    return body.getvalue()


def read_beginning(answer: httpx.Response, size: int) -> bytes:
    """The first bytes of a body, for a message: fewer, or none, where it cannot be read."""
    said = b""
    try:
        for piece in _decoder(answer.headers)(_bounded(answer, PIECE_BYTES, "")):
            said += piece
            if len(said) >= size:
                break
    except (BodyRefused, BodyBroken, httpx.TransportError):
        pass  # the status says what matters
    return said[:size]


def _bounded(answer: httpx.Response, limit: int, setting: str) -> Iterator[bytes]:
    """The body as it was sent."""
    stated = answer.headers.get("content-length", "")
    if len(stated) > len(str(limit)) or (stated.isdecimal() and int(stated) > limit):
        raise _too_large(limit, setting)
    size = 0
    for chunk in answer.stream if isinstance(answer.stream, httpx.SyncByteStream) else ():
        size += len(chunk)
        if size > limit:
            raise _too_large(limit, setting)
        yield chunk


def _too_large(limit: int, setting: str) -> BodyRefused:
    return BodyRefused("ANSWER_TOO_LARGE", f"the answer is larger than {limit} bytes ({setting})")


def _decoder(headers: httpx.Headers) -> Callable[[Iterable[bytes]], Iterator[bytes]]:
    """How to take off the one coding of a body: a second one would multiply what a small answer costs."""
    stated = headers.get("content-encoding", "")
    codings = [coding for coding in (part.strip().lower() for part in stated.split(",")) if coding]
    codings = [coding for coding in codings if coding != "identity"]
    if not codings:
        return iter
    if len(codings) > 1 or codings[0] not in _DECODERS:
        raise BodyRefused(
            "CODING_UNSUPPORTED",
            f"the answer has the content coding {stated[:_SHOWN_CHARS]!r}; only one of {ACCEPTED_CODINGS} is read",
        )
    return _DECODERS[codings[0]]


def _gunzipped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    return _inflated(chunks, zlib.MAX_WBITS | 16, MAX_MEMBERS)


def _deflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The coding `deflate` is zlib's format; some servers leave out its two-byte head."""
    left = iter(chunks)
    first = b""
    while len(first) < _ZLIB_HEAD_BYTES and (chunk := next(left, None)) is not None:
        first += chunk
    headed = (
        len(first) >= _ZLIB_HEAD_BYTES
        and first[0] & 0x0F == zlib.DEFLATED
        and int.from_bytes(first[:2], "big") % 31 == 0
    )
    return _inflated(chain([first], left), zlib.MAX_WBITS if headed else -zlib.MAX_WBITS, 1)


_DECODERS = {"gzip": _gunzipped, "x-gzip": _gunzipped, "deflate": _deflated}


def _inflated(chunks: Iterable[bytes], format_bits: int, max_members: int) -> Iterator[bytes]:
    """The compressed members, one after the other, in pieces; zeros after the last one are padding."""
    member, left = None, max_members
    for chunk in chunks:
        rest = chunk
        while rest:
            if member is None or member.eof:
                rest = rest if member is None else rest.lstrip(b"\0")
                if not rest:
                    break
                if not left:
                    raise BodyBroken(f"the compressed body has more than {max_members} parts")
                member, left = zlib.decompressobj(format_bits), left - 1
            yield _piece(member, rest)
            rest = member.unused_data if member.eof else member.unconsumed_tail
    while member is not None and not member.eof:  # what is left in the decompressor
        piece = _piece(member, b"")
        if not piece:
            raise BodyBroken("the compressed body ends early")
        yield piece


def _piece(member: "zlib._Decompress", data: bytes) -> bytes:
    try:
        return member.decompress(data, PIECE_BYTES)
    except zlib.error as error:
        raise BodyBroken(f"the compressed body is garbled: {error}") from error
