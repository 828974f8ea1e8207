"""Answers that no honest provider gives: heads, codings, redirects, bodies and values, and what may become of each."""

import gzip
import json
import socket
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

UPDATED = "2026-01-01T01:00:00Z"
STEP_SECONDS = 0.1
"""Between two bytes of a slow answer."""
DRIPS = 3_000
"""Bytes of a slow answer: far more than any deadline of the tests lets pass."""
MEGABYTE = 1_000_000


class End(StrEnum):
    """What may become of a task that gets such an answer."""

    REFUSED = "REFUSED"
    """It does not succeed, and says why."""
    NEIGHBOURS = "NEIGHBOURS"
    """It succeeds: the records beside the odd one are stored, the odd one is stored or in quarantine."""
    EITHER = "EITHER"
    """One of the two."""


Send = Callable[[socket.socket, str], None]
"""Writes an answer to the line; gets the path and query that were asked for."""


@dataclass(frozen=True)
class Hostile:
    """An answer, how a client reads it, and what may become of its task."""

    send: Send
    end: End = End.REFUSED
    format: str = "JSON"
    records: tuple[str, ...] = ("a", "b")
    """The records on its page that have an id."""
    quick: bool = True
    """Whether it is among those that run with every test run."""


def answer(body: bytes, *headers: str, status: str = "200 OK", content_type: str = "application/json") -> Send:
    """Send a whole answer with the right length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", f"Content-Length: {len(body)}", *headers]
    head = "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")
    return lambda line, _target: line.sendall(head + body)


def raw(text: bytes) -> Send:
    """Send these bytes and close."""
    return lambda line, _target: line.sendall(text)


def dripping(start: bytes, drop: bytes = b" ") -> Send:
    """Send the start, then a little more, again and again."""

    def send(line: socket.socket, _target: str) -> None:
        line.sendall(start)
        for _ in range(DRIPS):
            line.sendall(drop)
            pause(line)

    return send


def flooding(start: bytes, block: bytes, times: int = 100_000) -> Send:
    """Send the start, then a block again and again, as fast as the client reads."""

    def send(line: socket.socket, _target: str) -> None:
        line.sendall(start)
        for _ in range(times):
            line.sendall(block)

    return send


def pause(line: socket.socket) -> None:
    """Wait a little, or until the client is gone."""
    line.settimeout(STEP_SECONDS)
    with suppress(TimeoutError):
        if not line.recv(1):
            raise ConnectionAbortedError
    line.settimeout(None)


def record(name: str, **values: Any) -> str:
    """A record as a provider writes it."""
    return json.dumps({"id": name, "updated": UPDATED, "title": f"Title of {name}", **values})


def page(*records: str, rest: str = '"total": null, "next": null') -> bytes:
    """A page of these records."""
    return f'{{"items": [{", ".join(records)}], {rest}}}'.encode("utf-8", "surrogatepass")


def beside(odd: str | bytes) -> bytes:
    """A page with an odd record between two that are as they should be."""
    text = odd if isinstance(odd, bytes) else odd.encode("utf-8", "surrogatepass")
    return page(record("a"), "@odd@", record("b")).replace(b"@odd@", text)


def odd_record(values: str) -> str:
    """A record called `odd` with these members written as they are."""
    return f'{{"id": "odd", "updated": "{UPDATED}", {values}}}'


GOOD = page(record("a"), record("b"))
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

HEADS: dict[str, Hostile] = {
    "head a byte at a time": Hostile(dripping(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x")),
    "body a byte at a time": Hostile(dripping(HEAD + b"Content-Length: 100000\r\n\r\n{")),
    "error body a byte at a time": Hostile(dripping(b"HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\nno", b"o")),
    "chunks a byte at a time": Hostile(dripping(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n")),
    "no answer at all": Hostile(dripping(b"", b"")),
    "100 Continue slowly for ever": Hostile(dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
    "100 Continue for ever": Hostile(flooding(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
    "103 Early Hints for ever": Hostile(flooding(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")),
    "endless chunks": Hostile(
        flooding(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n", 2_000),
        quick=False,
    ),
    "endless body": Hostile(flooding(HEAD + b"\r\n", b" " * 65536, 2_000), quick=False),
    "chunk size that is no number": Hostile(raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")),
    "huge chunk size": Hostile(raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n{}")),
    "body shorter than its length": Hostile(raw(HEAD + b"Content-Length: 999\r\n\r\n" + GOOD)),
    "negative length": Hostile(raw(HEAD + b"Content-Length: -1\r\n\r\n" + GOOD)),
    "two lengths": Hostile(raw(HEAD + b"Content-Length: 2\r\nContent-Length: 300\r\n\r\n" + GOOD)),
    "length that is no number": Hostile(raw(HEAD + b"Content-Length: many\r\n\r\n" + GOOD)),
    "endless header": Hostile(flooding(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 65536, 200)),
    "endless headers": Hostile(flooding(b"HTTP/1.1 200 OK\r\n", b"X-One: more\r\n" * 5_000, 200)),
    "NUL in a header": Hostile(raw(HEAD + b"X-Nul: a\x00b\r\nContent-Length: 2\r\n\r\n{}")),
    "escape in the reason": Hostile(raw(b"HTTP/1.1 500 \x1b[31mred\r\nContent-Length: 0\r\n\r\n")),
    "status 999": Hostile(raw(b"HTTP/1.1 999 What\r\nContent-Length: 2\r\n\r\n{}")),
    "status 000": Hostile(raw(b"HTTP/1.1 000 What\r\nContent-Length: 2\r\n\r\n{}")),
    "status that is no number": Hostile(raw(b"HTTP/1.1 abc What\r\nContent-Length: 2\r\n\r\n{}")),
    "101 Switching Protocols": Hostile(raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n{}")),
    "204 with a body": Hostile(raw(b"HTTP/1.1 204 No\r\n\r\n" + GOOD)),
    "206 part of an answer": Hostile(answer(b'{"items": [', status="206 Partial Content")),
    "no head": Hostile(raw(GOOD)),
    "another protocol": Hostile(raw(b"SSH-2.0-OpenSSH_9.2\r\n")),
    "closed at once": Hostile(raw(b"")),
    "1,000 cookies": Hostile(
        answer(GOOD, *(f"Set-Cookie: c{number}={'x' * 40}" for number in range(1_000))), End.EITHER
    ),
    "Retry-After of a thousand million": Hostile(answer(b"", "Retry-After: 1e9", status="503 Busy")),
    "Retry-After that is negative": Hostile(answer(b"", "Retry-After: -5", status="503 Busy")),
    "Retry-After that is not a number": Hostile(answer(b"", "Retry-After: nan", status="503 Busy")),
    "Retry-After that is infinite": Hostile(answer(b"", "Retry-After: inf", status="503 Busy")),
    "Retry-After of 400 digits": Hostile(answer(b"", f"Retry-After: {'9' * 400}", status="503 Busy")),
    "Retry-After in the year 9999": Hostile(
        answer(b"", "Retry-After: Fri, 31 Dec 9999 23:59:59 -1400", status="503 Busy")
    ),
    "Date in the year 9999": Hostile(answer(GOOD, "Date: Fri, 31 Dec 9999 23:59:59 -1400"), End.EITHER),
    "Date that is none": Hostile(answer(GOOD, "Date: " + "9" * 300), End.EITHER),
}


def _bomb(levels: int, size: int = 512 * MEGABYTE) -> bytes:
    """Zeros in a coding on top of another."""
    block, packed = b"\0" * MEGABYTE, b""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(block) for _ in range(size // MEGABYTE)) + packer.flush()
    for _ in range(levels - 1):
        packed = gzip.compress(packed)
    return packed


def _lazily(make: Callable[[], Send]) -> Send:
    """An answer that is made when it is asked for."""

    def send(line: socket.socket, _target: str) -> None:
        make()(line, _target)

    return send


def _coded(body: bytes, coding: str) -> Send:
    return answer(body, f"Content-Encoding: {coding}")


CODINGS: dict[str, Hostile] = {
    "gzip in gzip": Hostile(_lazily(lambda: _coded(_bomb(2), "gzip, gzip")), quick=False),
    "gzip in gzip in gzip": Hostile(_lazily(lambda: _coded(_bomb(3), "gzip, gzip, gzip")), quick=False),
    "gzip of half a gigabyte": Hostile(_lazily(lambda: _coded(_bomb(1), "gzip")), quick=False),
    "error of half a gigabyte": Hostile(
        _lazily(lambda: answer(_bomb(1), "Content-Encoding: gzip", status="500 No")), quick=False
    ),
    "harmless gzip in gzip": Hostile(_coded(gzip.compress(gzip.compress(GOOD)), "gzip, gzip"), End.EITHER),
    "gzip cut short": Hostile(_coded(gzip.compress(GOOD)[:-12], "gzip")),
    "gzip with a wrong sum": Hostile(_coded(gzip.compress(GOOD)[:-8] + b"\0" * 8, "gzip")),
    "gzip that is none": Hostile(_coded(GOOD, "gzip")),
    "gzip of two members": Hostile(_coded(gzip.compress(GOOD[:40]) + gzip.compress(GOOD[40:]), "gzip"), End.NEIGHBOURS),
    "gzip with garbage behind": Hostile(_coded(gzip.compress(GOOD) + b"garbage", "gzip"), End.EITHER),
    "deflate": Hostile(_coded(zlib.compress(GOOD), "deflate"), End.NEIGHBOURS),
    "deflate without a head": Hostile(_coded(zlib.compress(GOOD)[2:-4], "deflate"), End.EITHER),
    "deflate cut short": Hostile(_coded(zlib.compress(GOOD)[:-8], "deflate")),
    "identity": Hostile(_coded(GOOD, "identity"), End.NEIGHBOURS),
    "unknown coding": Hostile(_coded(GOOD, "wondrous"), End.EITHER),
    "coding br": Hostile(_coded(GOOD, "br"), End.EITHER),
    "a thousand codings": Hostile(_coded(GOOD, ", ".join(["gzip"] * 1_000))),
}


def redirect(target: str, status: str = "302 Found") -> Hostile:
    """An answer that leads elsewhere."""
    return Hostile(answer(b"", f"Location: {target}", status=status))


REDIRECTS: dict[str, Hostile] = {
    "redirect to javascript": redirect("javascript:alert(1)"),
    "redirect to a file": redirect("file:///etc/passwd"),
    "redirect to data": redirect("data:application/json,{}"),
    "redirect to a bad international name": redirect("http://xn--a.example/"),
    "redirect to a long name": redirect(f"http://{'a' * 300}.example/"),
    "redirect to a broken address": redirect("http://[::1/"),
    "redirect to a port that is none": redirect("http://127.0.0.1:99999/"),
    "redirect to nothing": redirect(""),
    "redirect to another host": redirect("http://other.example/list"),
    "redirect with a user": redirect("http://user:secret@127.0.0.1:1/"),
    "redirect with an escape": redirect("/list?\x1b[31m"),
    "redirect for ever": redirect("/again"),
    "redirect of ten thousand letters": redirect("/" + "x" * 10_000),
}

DEEP = 100_000

BODIES: dict[str, Hostile] = {
    "nothing": Hostile(answer(b"")),
    "null": Hostile(answer(b"null")),
    "a list": Hostile(answer(b"[]")),
    "a text": Hostile(answer(b'"items"')),
    "a number": Hostile(answer(b"1e999")),
    "a web page": Hostile(answer(b"<!DOCTYPE html><html><body>Maintenance</body></html>", content_type="text/html")),
    "only a byte order mark": Hostile(answer(b"\xef\xbb\xbf")),
    "a byte order mark": Hostile(answer(b"\xef\xbb\xbf" + GOOD), End.NEIGHBOURS),
    "UTF-16": Hostile(answer(GOOD.decode().encode("utf-16")), End.EITHER),
    "UTF-32": Hostile(answer(GOOD.decode().encode("utf-32")), End.EITHER),
    "Latin-1": Hostile(answer(page(record("a"), record("b")).replace(b"Title", b"T\xeftle")), End.EITHER),
    "cut in the middle": Hostile(answer(GOOD[:-30])),
    "garbage behind": Hostile(answer(GOOD + b"garbage")),
    "two documents": Hostile(answer(GOOD + GOOD)),
    "NUL bytes": Hostile(answer(b"\0" * 100)),
    "NUL bytes behind": Hostile(answer(GOOD + b"\0" * 100)),
    "control characters": Hostile(answer(bytes(range(32)) * 10)),
    "escapes of a terminal": Hostile(answer(b"\x1b]0;title\x07\x1b[2J")),
    "deep lists": Hostile(answer(b"[" * DEEP + b"]" * DEEP)),
    "deep lists of an item": Hostile(answer(beside("[" * DEEP + "]" * DEEP)), End.NEIGHBOURS),
    "deep objects": Hostile(answer(b'{"a":' * DEEP + b"1" + b"}" * DEEP)),
    "items is an object": Hostile(answer(b'{"items": {"a": 1}}')),
    "items is a text": Hostile(answer(b'{"items": "abc"}')),
    "items is missing": Hostile(answer(b'{"entries": []}')),
    "items twice": Hostile(answer(GOOD[:-1] + b', "items": []}'), End.EITHER, records=()),  # the last one counts
    "items of other kinds": Hostile(answer(b'{"items": [null, 1, "a", [], true, {}]}'), End.EITHER, records=()),
    "empty lists by the million": Hostile(answer(b'{"items": [' + b"[]," * (5 * MEGABYTE) + b"[]]}"), quick=False),
    "empty objects by the million": Hostile(answer(b'{"items": [' + b"{}," * (5 * MEGABYTE) + b"{}]}"), quick=False),
    "numbers by the million": Hostile(answer(b'{"items": [' + b"0," * (8 * MEGABYTE) + b"0]}"), quick=False),
    "keys by the million": Hostile(
        _lazily(lambda: answer(b"{" + b",".join(b'"%d":0' % number for number in range(2_500_000)) + b"}")), quick=False
    ),
    "commas in a text by the million": Hostile(
        _lazily(lambda: answer(page(record("a", abstract="," * (3 * MEGABYTE)), record("b")))), End.EITHER, quick=False
    ),
    "quotes escaped by the million": Hostile(
        _lazily(lambda: answer(page(record("a", abstract='"' * (3 * MEGABYTE)), record("b")))), End.EITHER, quick=False
    ),
    "40 MB of space": Hostile(_lazily(lambda: answer(GOOD + b" " * (40 * MEGABYTE))), quick=False),
    "one text of 20 MB": Hostile(
        _lazily(lambda: answer(page(record("a"), record("odd", title="x" * (20 * MEGABYTE)), record("b")))),
        End.EITHER,
        quick=False,
    ),
}

VALUES: dict[str, str | bytes] = {
    "number of 5,000 digits": odd_record('"n": ' + "9" * 5_000),
    "number of a million digits": odd_record('"n": ' + "9" * MEGABYTE),
    "number with a huge exponent": odd_record('"n": 1e999999999'),
    "not a number": odd_record('"n": NaN'),
    "infinity": odd_record('"n": -Infinity'),
    "invalid UTF-8": odd_record('"t": "@"').encode().replace(b"@", b"\xff\xfe"),
    "overlong UTF-8": odd_record('"t": "@"').encode().replace(b"@", b"\xc0\x80"),
    "surrogates as bytes": odd_record('"t": "@"').encode().replace(b"@", b"\xed\xa0\x80"),
    "lone surrogate": odd_record('"t": "\\ud800"'),
    "NUL in a text": odd_record('"title": "a\\u0000b"'),
    "NUL byte in a text": odd_record('"title": "a@b"').encode().replace(b"@", b"\0"),
    "line break in a text": odd_record('"title": "a\nb"'),
    "escape of a terminal in a title": odd_record('"title": "\\u001b[2J\\u202eabc"'),
    "nested 990 deep": odd_record('"t": ' + "[" * 990 + "]" * 990),
    "nested 5,000 deep": odd_record('"t": ' + "[" * 5_000 + "]" * 5_000),
    "the same key twice": odd_record('"title": "one", "title": "two"'),
    "id twice": odd_record('"id": "other"'),
    "id of a million letters": record("x" * MEGABYTE),
    "id with NUL": '{"id": "o\\u0000d", "updated": "' + UPDATED + '"}',
    "id with a lone surrogate": '{"id": "\\udc00", "updated": "' + UPDATED + '"}',
    "id with an escape of a terminal": '{"id": "\\u001b]0;x\\u0007", "updated": "' + UPDATED + '"}',
    "id with line breaks": '{"id": "o\\nERROR forged line", "updated": "' + UPDATED + '"}',
    "id that is empty": record(""),
    "id that is an object": '{"id": {"a": 1}, "updated": "' + UPDATED + '"}',
    "id that is a list": '{"id": [1, 2], "updated": "' + UPDATED + '"}',
    "id that is true": '{"id": true, "updated": "' + UPDATED + '"}',
    "id of 400 digits": '{"id": ' + "9" * 400 + ', "updated": "' + UPDATED + '"}',
    "id that is no whole number": '{"id": 1.5e300, "updated": "' + UPDATED + '"}',
    "no id": '{"updated": "' + UPDATED + '"}',
    "no time": '{"id": "odd"}',
    "time in the year 0": '{"id": "odd", "updated": "0000-01-01T00:00:00Z"}',
    "time before the year 1": '{"id": "odd", "updated": "0001-01-01T00:00:00+14:00"}',
    "time behind the year 9999": '{"id": "odd", "updated": "9999-12-31T23:59:59-14:00"}',
    "time of 400 digits": '{"id": "odd", "updated": ' + "9" * 400 + "}",
    "time that is an object": '{"id": "odd", "updated": {"at": 1}}',
    "time of a million letters": '{"id": "odd", "updated": "' + "1" * MEGABYTE + '"}',
    "title that is an object": odd_record('"title": {"a": [1]}'),
    "title of a million letters": record("odd", title="x" * MEGABYTE),
}

PLACES: dict[str, str] = {
    "an object": '{"href": "/x"}',
    "a list": '["a"]',
    "true": "true",
    "NUL": '"a\\u0000b"',
    "a lone surrogate": '"\\ud800"',
    "20 MB": '"' + "x" * (20 * MEGABYTE) + '"',
    "a million letters": '"' + "x" * MEGABYTE + '"',
    "an escape of a terminal": '"\\u001b[2J"',
    "a line break": '"a\\r\\nHost: evil.example"',
}

TOTALS: dict[str, str] = {
    "negative": "-1",
    "of 400 digits": "9" * 400,
    "that is an object": "{}",
    "that is a text": '"many"',
    "that is not a number": "NaN",
    "with a huge exponent": "1e400",
    "that is true": "true",
}


def _xml(inside: str, head: str = '<?xml version="1.0"?>', root: str = "feed") -> bytes:
    return f"{head}<{root}>{inside}</{root.split(maxsplit=1)[0]}>".encode()


def _entry(name: str, inside: str = "") -> str:
    return f"<entry><id>{name}</id><updated>{UPDATED}</updated><title>Title of {name}</title>{inside}</entry>"


def _laughs() -> str:
    lines = [
        f'<!ENTITY l{n} "{"&l" + str(n - 1) + ";" if n else "ha"}{("&l" + str(n - 1) + ";") * 9 if n else ""}">'
        for n in range(10)
    ]
    return f'<?xml version="1.0"?><!DOCTYPE feed [{"".join(lines)}]>'


def _deep(name: str, levels: int, text: str = "") -> str:
    return f"<{name}>" * levels + text + f"</{name}>" * levels


XML_PAIR = _entry("a") + _entry("b")
XMLS: dict[str, tuple[bytes, End]] = {
    "billion laughs": (_xml(_entry("a", "&l9;"), _laughs()), End.REFUSED),
    "quadratic entity": (
        _xml(_entry("a", "&e;" * 10_000), f'<!DOCTYPE feed [<!ENTITY e "{"x" * 50_000}">]>'),
        End.REFUSED,
    ),
    "external entity": (
        _xml(_entry("a", "&e;"), '<!DOCTYPE feed [<!ENTITY e SYSTEM "file:///etc/passwd">]>'),
        End.REFUSED,
    ),
    "external DTD": (_xml(XML_PAIR, '<!DOCTYPE feed SYSTEM "http://other.example/x.dtd">'), End.EITHER),
    "parameter entity": (
        _xml(XML_PAIR, '<!DOCTYPE feed [<!ENTITY % p SYSTEM "http://other.example/p"> %p;]>'),
        End.REFUSED,
    ),
    "undeclared entity": (_xml(_entry("a", "<n>&unknown;</n>") + _entry("b")), End.NEIGHBOURS),
    "undeclared entity behind a > of an attribute": (
        _xml(_entry("a", '<n about="x > &unknown; y"/>') + _entry("b"), '<!DOCTYPE feed SYSTEM "x.dtd">'),
        End.NEIGHBOURS,
    ),
    "elements 100,000 deep": (_xml(_entry("a", _deep("d", DEEP))), End.REFUSED),
    "text at the end of 200 levels": (_xml(_entry("a", _deep("d", 200, "x" * 20_000)) + _entry("b")), End.NEIGHBOURS),
    "text at every one of 200 levels": (
        _xml(_entry("a", "".join(f"<d>{'x' * 5_000}" for _ in range(200)) + "</d>" * 200) + _entry("b")),
        End.EITHER,
    ),
    "NUL by number": (_xml(_entry("a", "<n>&#0;</n>") + _entry("b")), End.NEIGHBOURS),
    "surrogate by number": (_xml(_entry("a", "<n>&#xD800;</n>") + _entry("b")), End.NEIGHBOURS),
    "escape of a terminal": (_xml(_entry("a", "<n>&#27;[2J</n>") + _entry("b")), End.NEIGHBOURS),
    "invalid UTF-8": (_xml(_entry("a", "<n>@</n>") + _entry("b")).replace(b"@", b"\xff"), End.NEIGHBOURS),
    "UTF-7": (_xml(XML_PAIR, '<?xml version="1.0" encoding="UTF-7"?>'), End.REFUSED),
    "an encoding that is none": (_xml(XML_PAIR, '<?xml version="1.0" encoding="wondrous"?>'), End.REFUSED),
    "an encoding that is Python": (_xml(XML_PAIR, '<?xml version="1.0" encoding="zlib"?>'), End.REFUSED),
    "UTF-16": (_xml(XML_PAIR, '<?xml version="1.0" encoding="UTF-16"?>').decode().encode("utf-16"), End.EITHER),
    "cut short": (_xml(XML_PAIR)[:-20], End.REFUSED),
    "garbage behind": (_xml(XML_PAIR) + b"<garbage", End.REFUSED),
    "nothing": (b"", End.REFUSED),
    "a web page": (b"<html><body>Maintenance</body></html>", End.REFUSED),
    "an attribute twice": (_xml(_entry("a", '<n a="1" a="2"/>')), End.REFUSED),
    "10,000 attributes": (
        _xml(_entry("a", "<n " + " ".join(f"a{n}='1'" for n in range(10_000)) + "/>") + _entry("b")),
        End.EITHER,
    ),
    "1,000 namespaces": (
        _xml(XML_PAIR, root="feed " + " ".join(f'xmlns:n{n}="urn:{n}"' for n in range(1_000))),
        End.EITHER,
    ),
    "a comment of a megabyte": (_xml(XML_PAIR + f"<!--{'x' * MEGABYTE}-->"), End.EITHER),
    "an instruction": (_xml(XML_PAIR + '<?php system("x") ?>'), End.EITHER),
    "CDATA": (_xml(_entry("a", "<n><![CDATA[</entry><entry>]]></n>") + _entry("b")), End.NEIGHBOURS),
}


def _every() -> Iterator[tuple[str, Hostile]]:
    for group, cases in (("head", HEADS), ("coding", CODINGS), ("redirect", REDIRECTS), ("body", BODIES)):
        yield from ((f"{group}: {name}", one) for name, one in cases.items())
    for name, odd in VALUES.items():
        yield f"value: {name}", Hostile(answer(beside(odd)), End.NEIGHBOURS)
    for name, place in PLACES.items():
        yield f"next: {name}", Hostile(answer(page(record("a"), rest=f'"next": {place}')), quick=len(place) < MEGABYTE)
    for name, total in TOTALS.items():
        yield f"total: {name}", Hostile(answer(page(record("a"), record("b"), rest=f'"total": {total}')), End.EITHER)
    for name, (body, end) in XMLS.items():
        yield f"xml: {name}", Hostile(answer(body, content_type="application/xml"), end, "XML")
    for name, make in LARGE_XMLS.items():
        yield f"xml: {name}", Hostile(_lazily(partial(_xml_answer, make)), format="XML", quick=False)


def _xml_answer(make: Callable[[], str]) -> Send:
    return answer(make().encode(), content_type="application/xml")


LARGE_XMLS: dict[str, Callable[[], str]] = {
    "elements by the million": lambda: f"<feed>{'<e/>' * (3 * MEGABYTE)}</feed>",
    "elements with attributes by the million": lambda: "<feed><e>" + "<e a=''/>" * (2 * MEGABYTE) + "</e></feed>",
    "attributes of one element": lambda: "<feed><e" + "".join(f" a{n}=''" for n in range(MEGABYTE)) + "/></feed>",
    "different names by the million": lambda: f"<feed>{''.join(f'<e{n}/>' for n in range(MEGABYTE))}</feed>",
    "20 MB of text outside of records, at 150 levels": lambda: (
        "<feed><title>" + "<i>x" * 150 + "y" * (20 * MEGABYTE) + "</i>" * 150 + "</title></feed>"
    ),
    "a namespace of 100,000 letters for 10,000 records": lambda: (
        f"<feed xmlns:n='{'u' * 100_000}'>{'<entry/>' * 10_000}</feed>"
    ),
    "10,000 namespaces": lambda: (
        "<feed" + "".join(f" xmlns:n{n}='u'" for n in range(10_000)) + f">{'<entry/>' * 10_000}</feed>"
    ),
    "a default attribute of 100,000 letters": lambda: (
        f"<!DOCTYPE feed [<!ATTLIST e a CDATA '{'d' * 100_000}'>]><feed>{'<e/>' * 20_000}</feed>"
    ),
    "a document type of 16 MB": lambda: (
        f"<!DOCTYPE feed [{''.join(f'<!ELEMENT e{n} ANY>' for n in range(700_000))}]><feed/>"
    ),
    "a comment of 16 MB": lambda: f"<feed><!--{'x' * (16 * MEGABYTE)}--></feed>",
}


HOSTILE = dict(_every())
"""Every answer by its name."""
