"""Numbers that a machine word does not hold."""

import pytest

from ingest_core.model.numbers import holds_long_number

LONG = b"1234567890123456789"


@pytest.mark.parametrize(
    "text",
    [
        LONG,
        b'{"a":%b}' % LONG,
        b"[1,%b]" % LONG,
        b'{"a": -%b}' % LONG,
        b'{"a":0.%b}' % LONG,
        b'["%b",%b]' % (LONG, LONG),
    ],
)
def test_a_long_number_is_seen(text: bytes) -> None:
    assert holds_long_number(text)


@pytest.mark.parametrize(
    "text", [b"", b'{"a":123456789012345678}', b'{"a":"%b"}' % LONG, b'["S%b","%b"]' % (LONG, LONG)]
)
def test_long_digits_within_a_text_are_no_number(text: bytes) -> None:
    assert not holds_long_number(text)
