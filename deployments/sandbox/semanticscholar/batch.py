"""The body of a request to `/paper/batch`."""

import orjson

from deployments.sandbox.semanticscholar.failure import RefusalError

MOST_IDS = 500


def read_ids(body: bytes) -> list[str]:
    """The ids asked for, in their order."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise RefusalError("Request body is not valid JSON") from None
    ids = document.get("ids") if isinstance(document, dict) else None
    if not isinstance(ids, list) or not all(isinstance(entry, str) for entry in ids):
        raise RefusalError("Request body must be an object with a list of strings 'ids'")
    if len(ids) > MOST_IDS:
        raise RefusalError(f"Too many ids: {len(ids)} given, at most {MOST_IDS} can be processed at a time")
    if not ids or not all(entry.strip() for entry in ids):
        raise RefusalError("No valid paper ids given")
    return ids
