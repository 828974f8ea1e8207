"""How many values a JSON text holds, known before it is parsed: parsed, each takes up to 100 times its bytes."""

_CHUNK_BYTES = 256 * 1024
_NOT_COUNTED = bytes(set(range(256)) - set(b'",[{'))


def holds_more_values(body: bytes, limit: int) -> bool:
    """Whether the text holds more values than `limit`; an object counts as two, so does an empty list.

    Every value but the first follows a comma or an opening bracket. These bytes are counted wherever they stand, which
    is quick and can only be too many; only above the limit are they counted again outside of strings.
    """
    if body.count(b",") + body.count(b"[") + 2 * body.count(b"{") < limit:
        return False
    return _counted_outside_strings(body, limit)


def _counted_outside_strings(body: bytes, limit: int) -> bool:
    # Without escapes a quotation mark begins or ends a string. Chunks keep the list of strings short.
    marks = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NOT_COUNTED)
    count, within = 1, 0
    for at in range(0, len(marks), _CHUNK_BYTES):
        parts = marks[at : at + _CHUNK_BYTES].split(b'"')
        outside = b"".join(parts[within::2])
        count += len(outside) + outside.count(b"{")
        within ^= (len(parts) - 1) & 1
        if count > limit:
            return True
    return False
