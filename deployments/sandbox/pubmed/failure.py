"""The ways the E-utilities say no: most of them inside a 200."""

from collections.abc import Mapping

import orjson

from deployments.sandbox.provider import Reply

JSON = {"content-type": "application/json; charset=UTF-8"}
XML = {"content-type": "text/xml; charset=UTF-8"}
HTML = {"content-type": "text/html; charset=UTF-8"}
ESEARCH_TYPE = (
    '<?xml version="1.0" encoding="UTF-8" ?>\n<!DOCTYPE eSearchResult PUBLIC "-//NLM//DTD esearch 20060628//EN"'
    ' "https://eutils.ncbi.nlm.nih.gov/eutils/dtd/20060628/esearch.dtd">\n'
)
NOTHING_ASKED = "Empty term and query_key - nothing todo"
UNBALANCED = (
    "Search Backend failed: An error occurred while processing request. Status: 500. Source: /api/search/"
    " Details: Search is temporarily unavailable. Please try again later."
)
TOO_MANY_IDS = "Too many UIDs in request. Maximum number of UIDs is 500 for JSON format output."


def too_far(reach: int) -> str:
    """What esearch says of a `retstart` beyond the records it lets one reach."""
    # The line break is a raw one in the real answer: no strict JSON reader takes it.
    return (
        f"Search Backend failed: Exception:\n'retstart' cannot be larger than {reach - 1}. For PubMed, ESearch can only"
        f" retrieve the first {reach:,} records matching the query. To obtain more than {reach:,} PubMed records,"
        " consider using EDirect that contains additional logic to batch PubMed search results automatically so that an"
        " arbitrary number can be retrieved. For details see https://www.ncbi.nlm.nih.gov/books/NBK25499/"
    )


def search_error(message: str, *, json: bool) -> Reply:
    """An error of esearch, in a 200."""
    if not json:
        return Reply(200, f"{ESEARCH_TYPE}<eSearchResult><ERROR>{message}</ERROR></eSearchResult>\n".encode(), XML)
    body = f'{{"header":{{"type":"esearch","version":"0.3"}},"esearchresult":{{"ERROR":"{message}"}}}}\n'
    return Reply(200, body.encode(), JSON)


def summary_error(message: str) -> Reply:
    """An error of esummary about the whole request, in a 200 without `result`."""
    return _json(200, {"header": {"type": "esummary", "version": "0.3"}, "error": message})


def no_ids_to_summarise() -> Reply:
    """esummary without ids: a 200 whose `esummaryresult` is a list."""
    answer = {"header": {"type": "esummary", "version": "0.3"}, "esummaryresult": ["Empty id list - nothing todo"]}
    return _json(200, answer)


def fetch_error(message: str) -> Reply:
    """An error of efetch: a 400 that is XML."""
    body = f'<?xml version="1.0" encoding="UTF-8" ?>\n<eFetchResult>\n\t<ERROR>{message}</ERROR>\n</eFetchResult>\n'
    return Reply(400, body.encode(), XML)


def bad_database(name: str) -> Reply:
    """A database the E-utilities do not have."""
    return _json(400, {"error": f"Invalid db name specified: {name}"})


def bad_key(key: str) -> Reply:
    """A key NCBI did not give out, which the answer repeats; an empty one is such a key."""
    return _json(400, {"error": "API key invalid", "api-key": key, "type": "invalid", "status": "unknown"})


def rate_limited(who: str, limit: int) -> Reply:
    """The 429; without a key it names the caller's address."""
    answer = {"error": "API rate limit exceeded", "api-key": who, "count": str(limit + 1), "limit": str(limit)}
    reply = _json(429, answer)
    return Reply(reply.status, reply.body, {**reply.headers, "retry-after": "2"})


def url_too_long() -> Reply:
    """The recorded 414, an HTML page of the web server before the utilities."""
    title = "Submitted URI too large!"
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"\n'
        '  "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">\n'
        f'<html xmlns="http://www.w3.org/1999/xhtml" lang="en" xml:lang="en">\n'
        f"<head>\n<title>{title}</title>\n</head>\n"
        f"<body>\n<h1>{title}</h1>\n<p>The length of the requested URL exceeds the capacity limit for this server."
        " The request cannot be processed.</p>\n<h2>Error 414</h2>\n</body>\n</html>\n"
    )
    return Reply(414, body.encode(), HTML)


def _json(status: int, answer: Mapping[str, object]) -> Reply:
    return Reply(status, orjson.dumps(answer) + b"\n", JSON)
