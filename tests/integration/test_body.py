"""An answer's body: one coding, whole or an error, and never larger in memory than its limit."""

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_core.execution.ports import AnswerLost, CredentialMissing
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import AuthType, ErrorLevel
from ingest_core.model.spec import AuthSpec
from ingest_core.transport.body import MAX_MEMBERS, BodyBroken, BodyRefused, read_body
from ingest_core.transport.http import ERROR_BODY_BYTES, TOKEN_BYTES, HttpUpstream
from tests.support.credentials import DEMO_NAMES
from tests.support.echo_server import EchoServer, Reply, echo_server, request_to

MEBIBYTE = 2**20
LIMIT = 4 * MEBIBYTE


class Chunks(httpx.SyncByteStream):
    """A body that arrives in these chunks."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._chunks)


def answer(*chunks: bytes, coding: str | None = None, status: int = 200) -> httpx.Response:
    headers = [(b"content-encoding", coding.encode("latin-1"))] if coding is not None else []
    return httpx.Response(status, headers=headers, stream=Chunks(*chunks))


def body_of(*chunks: bytes, coding: str | None = None, limit: int = LIMIT) -> bytes:
    return read_body(answer(*chunks, coding=coding), limit, "a setting")


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def bomb(mebibytes: int) -> bytes:
    """Zeros, compressed once."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join(packer.compress(bytes(MEBIBYTE)) for _ in range(mebibytes)) + packer.flush()


def cut_up(data: bytes, seed: int) -> list[bytes]:
    """The data in pieces of any length."""
    chance = random.Random(seed)
    pieces, place = [], 0
    while place < len(data):
        size = chance.choice((1, 1, 2, 7, 100, 65536))
        pieces.append(data[place : place + size])
        place += size
    return pieces


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZIP": gzip.compress,
    "deflate": zlib.compress,
    "deflate ": raw_deflate,
    "identity": bytes,
    "": bytes,
    "identity, gzip": gzip.compress,
}


@pytest.mark.parametrize("coding", CODINGS)
@given(data=st.one_of(st.binary(max_size=300), st.integers(0, 300_000).map(bytes)), seed=st.integers(0, 99))
def test_a_body_comes_back_whatever_its_coding_and_its_chunks(coding: str, data: bytes, seed: int) -> None:
    assert body_of(*cut_up(CODINGS[coding](data), seed), coding=coding) == data


@given(
    parts=st.lists(st.binary(max_size=200), min_size=1, max_size=5), zeros=st.integers(0, 3), seed=st.integers(0, 99)
)
def test_the_members_of_a_gzip_body_are_one_body(parts: list[bytes], zeros: int, seed: int) -> None:
    packed = b"".join(map(gzip.compress, parts)) + bytes(zeros)

    assert body_of(*cut_up(packed, seed), coding="gzip") == b"".join(parts)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "deflate "])
@given(data=st.binary(max_size=300), at=st.integers(0, 10_000), seed=st.integers(0, 99))
def test_a_cut_body_is_an_error_and_never_a_short_one(coding: str, data: bytes, at: int, seed: int) -> None:
    packed = CODINGS[coding](data)
    short = packed[: 1 + at % (len(packed) - 1)]

    with pytest.raises(BodyBroken):
        body_of(*cut_up(short, seed), coding=coding)


@given(data=st.binary(min_size=1, max_size=300), at=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_a_garbled_gzip_body_is_its_data_or_an_error(data: bytes, at: int, flip: int) -> None:
    """A flipped byte in a field that says nothing about the data, such as its time, may pass."""
    packed = bytearray(gzip.compress(data))
    packed[at % len(packed)] ^= flip
    with suppress(BodyBroken):
        assert body_of(bytes(packed), coding="gzip") == data


def test_bytes_behind_a_compressed_body_are_an_error() -> None:
    for coding, packed in (("gzip", gzip.compress(b"{}")), ("deflate", zlib.compress(b"{}"))):
        with pytest.raises(BodyBroken):
            body_of(packed + b"more", coding=coding)


def test_no_bytes_are_no_body() -> None:
    assert [body_of(coding=coding) for coding in CODINGS] == [b""] * len(CODINGS)


@pytest.mark.parametrize(
    "coding", ["gzip, gzip", "gzip,deflate", "identity, gzip, gzip", "br", "zstd", "compress", "x" * 5000, "\xff"]
)
def test_a_second_coding_or_an_unknown_one_is_refused_before_anything_is_decompressed(coding: str) -> None:
    with pytest.raises(BodyRefused, match="gzip, deflate") as refused:
        body_of(b"never read", coding=coding)
    assert refused.value.code == "CODING_UNSUPPORTED"
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("coding", ["gzip", "deflate", "deflate ", "identity"])
@pytest.mark.parametrize(("size", "fits"), [(LIMIT, True), (LIMIT + 1, False)])
def test_the_limit_is_exact(coding: str, size: int, fits: bool) -> None:
    packed = CODINGS[coding](bytes(size))
    if fits:
        assert len(body_of(packed, coding=coding)) == size
        return
    with pytest.raises(BodyRefused, match=r"larger than 4194304 bytes \(a setting\)") as refused:
        body_of(packed, coding=coding)
    assert refused.value.code == "ANSWER_TOO_LARGE"


@pytest.mark.parametrize("stated", [str(LIMIT + 1), "9" * 5000])
def test_a_stated_length_above_the_limit_is_refused_before_anything_is_read(stated: str) -> None:
    large = httpx.Response(200, headers={"content-length": stated}, stream=Chunks())
    with pytest.raises(BodyRefused, match="larger than"):
        read_body(large, LIMIT, "a setting")


def test_empty_members_without_end_are_refused() -> None:
    empty = gzip.compress(b"")
    with pytest.raises(BodyBroken, match=f"more than {MAX_MEMBERS}"):
        body_of(*([empty * 1000] * 11), coding="gzip")


@pytest.mark.parametrize("mebibytes", [64, 256])
def test_memory_stays_near_the_limit_whatever_a_body_would_grow_to(mebibytes: int) -> None:
    packed = bomb(mebibytes)
    tracemalloc.start()
    try:
        with pytest.raises(BodyRefused):
            body_of(packed, coding="gzip")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * LIMIT


class TestOverTheWire:
    """The same, in answers of a server."""

    @pytest.fixture
    def server(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[EchoServer]:
        monkeypatch.setenv("NO_PROXY", "*")
        monkeypatch.setenv("DEMO_KEY", "k3y-of-the-test")
        with echo_server() as running:
            yield running

    @pytest.fixture
    def upstream(self) -> Iterator[HttpUpstream]:
        sender = HttpUpstream("patra-test", credential_names=DEMO_NAMES, allow_private_addresses=True)
        yield sender
        sender.close()

    def test_only_what_is_decoded_is_asked_for_whatever_the_source_says(
        self, upstream: HttpUpstream, server: EchoServer
    ) -> None:
        upstream.send(request_to(server.url, headers={"accept-encoding": "br", "Host": "evil.example"}))

        assert server.seen[0].headers["accept-encoding"] == "gzip, deflate"
        assert f"http://{server.seen[0].headers['host']}" == server.url

    def test_stacked_codings_are_an_error_of_this_request(self, upstream: HttpUpstream, server: EchoServer) -> None:
        server.say("/works", Reply(200, gzip.compress(bomb(16)), {"Content-Encoding": "gzip, gzip"}))
        with pytest.raises(UpstreamError) as refused:
            upstream.send(request_to(server.url))

        error = refused.value
        assert (error.code, error.level, error.moved) == ("CODING_UNSUPPORTED", ErrorLevel.L2, True)

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(503, b"never read", {"Content-Encoding": "br", "Retry-After": "7"}),
            Reply(503, bytes(ERROR_BODY_BYTES + 1), {"Retry-After": "7"}),
        ],
        ids=["unknown coding", "too large"],
    )
    def test_an_error_status_counts_without_its_body(
        self, upstream: HttpUpstream, server: EchoServer, reply: Reply
    ) -> None:
        server.say("/works", reply)
        response = upstream.send(request_to(server.url))

        assert (response.status, response.body, response.headers["retry-after"]) == (503, b"", "7")

    def test_a_garbled_body_is_lost(self, upstream: HttpUpstream, server: EchoServer) -> None:
        server.say("/works", Reply(200, gzip.compress(b"{}")[:-1], {"Content-Encoding": "gzip"}))
        with pytest.raises(AnswerLost, match="ends early"):
            upstream.send(request_to(server.url))

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(200, b'{"access_token": "' + b"x" * TOKEN_BYTES + b'"}'),
            Reply(200, gzip.compress(bomb(16)), {"Content-Encoding": "gzip, gzip"}),
            Reply(200, b"[" * (TOKEN_BYTES // 2)),
            Reply(200, b'{"expires_in": 1' + b"0" * 400 + b"}"),
        ],
        ids=["too large", "stacked codings", "nested", "huge number"],
    )
    def test_no_answer_of_a_token_url_costs_more_than_its_request(
        self, upstream: HttpUpstream, server: EchoServer, reply: Reply
    ) -> None:
        server.say("/token", reply)
        auth = AuthSpec(
            type=AuthType.OAUTH2,
            credential_ref="env:DEMO_KEY",
            username_ref="env:DEMO_KEY",
            token_url=f"{server.url}/token",
        )
        with pytest.raises(CredentialMissing):
            upstream.send(request_to(server.url, auth=auth))
        assert server.at("/works") == []

    def test_a_lifetime_that_is_no_number_of_seconds_is_not_used(
        self, upstream: HttpUpstream, server: EchoServer
    ) -> None:
        server.say("/token", Reply(200, b'{"access_token": "t0ken", "expires_in": 1' + b"0" * 400 + b"}"))
        auth = AuthSpec(
            type=AuthType.OAUTH2,
            credential_ref="env:DEMO_KEY",
            username_ref="env:DEMO_KEY",
            token_url=f"{server.url}/token",
        )
        assert upstream.send(request_to(server.url, auth=auth)).status == 200
