"""Decoding under mutation: real answers with bytes changed, cut, repeated, nested and encoded anew."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.decoding_law import check, seeds, specs

TOKENS = [
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"<", b">", b"&", b"/>", b"</", b"<!--", b"-->",
    b"<![CDATA[", b"]]>",
    b"&nbsp;", b"&#0;", b"&#xD800;", b"<!DOCTYPE a [", b"<!ENTITY a 'b'>", b"<?xml version='1.0' encoding='utf-16'?>",
    b"\x00", b"\x1b", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\\ud800", b"\\u0000", b"\\u00",
    b"NaN", b"-Infinity", b"1e999", b"-0", b"01", b"9" * 400, b"9" * 5000, b"null", b"true", b'""', b"[]", b"{}",
    b"[" * 300 + b"]" * 300, b"[" * 5000 + b"]" * 5000, b"<a>" * 300 + b"</a>" * 300, b" xmlns:a='b'", b" a='>&copy;'",
]  # fmt: skip
ENCODINGS = ["utf-16", "utf-16-le", "utf-8-sig", "iso-8859-1", "utf-7"]


KINDS = ["put", "swap", "flip", "repeat", "drop", "cut"]
MUTATIONS = st.tuples(st.sampled_from(KINDS), st.integers(0, 20_000), st.integers(0, 400), st.integers(0, 254))


def mutated(body: bytes, kind: str, place: int, length: int, number: int) -> bytes:
    """The body with one change; the number says which."""
    start = place % (len(body) + 1)
    part, rest = body[start : start + length], body[start + length :]
    token = TOKENS[number % len(TOKENS)]
    changed = {
        "put": part + token,
        "swap": token,
        "flip": bytes(byte ^ (number + 1) for byte in part[:1]) + part[1:],
        "repeat": part * (2 + number % 20),
    }
    return body[:start] + changed.get(kind, b"") + (b"" if kind == "cut" else rest)


def encoded(body: bytes, encoding: str | None) -> bytes:
    """The body in another encoding."""
    return body.decode("utf-8", "replace").encode(encoding, "replace") if encoding else body


@settings(max_examples=600)
@given(
    st.integers(0, len(seeds()) - 1),
    st.lists(MUTATIONS, max_size=5),
    st.none() | st.sampled_from(ENCODINGS),
    st.sampled_from([spec.provenance_code for spec in specs()]),
)
def test_any_answer_is_a_page_with_all_its_records_or_a_known_error(
    seed: int, changes: list[tuple[str, int, int, int]], encoding: str | None, source: str
) -> None:
    body = seeds()[seed]
    for change in changes:
        body = mutated(body, *change)
    check(encoded(body, encoding), next(spec for spec in specs() if spec.provenance_code == source))


def test_the_answers_that_mutations_start_from_are_pages() -> None:
    """Else the mutations would only try what is refused anyway."""
    read = [sum(check(body, spec) == "page" for spec in specs()) for body in seeds()]
    assert sum(map(bool, read)) > len(seeds()) / 2
