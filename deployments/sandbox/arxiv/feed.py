"""The Atom feed arXiv answers with."""

import base64
import hashlib
import re
from collections.abc import Mapping
from urllib.parse import urlencode
from xml.sax.saxutils import escape, quoteattr

from deployments.sandbox.arxiv.template import OPENING
from deployments.sandbox.instant import write_seconds

SHOWN = ("search_query", "id_list", "start", "max_results")
NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
DEFAULTS = {"search_query": "", "id_list": "", "start": "0", "max_results": "10"}


def write_feed(given: Mapping[str, str], entries: list[str], total: int, start: int, size: int, now_ms: int) -> bytes:
    """A page of entries, and what the feed says of itself."""
    asked = {name: NOT_XML.sub("", given.get(name) or DEFAULTS[name]) for name in SHOWN}
    digest = base64.b64encode(hashlib.sha256(repr(asked).encode()).digest()[:20]).decode().rstrip("=")
    title = "&".join(f"{name}={value}" for name, value in asked.items())
    link = quoteattr(f"https://arxiv.org/api/query?{urlencode(asked)}")
    parts = [
        "<?xml version='1.0' encoding='UTF-8'?>",
        OPENING,
        f"  <id>https://arxiv.org/api/{digest}</id>",
        f"  <title>arXiv Query: {escape(title)}</title>",
        f"  <updated>{write_seconds(now_ms)}</updated>",
        f'  <link href={link} type="application/atom+xml"/>',
        f"  <opensearch:itemsPerPage>{size}</opensearch:itemsPerPage>",
        f"  <opensearch:totalResults>{total}</opensearch:totalResults>",
        f"  <opensearch:startIndex>{start}</opensearch:startIndex>",
        *(f"  {entry}" for entry in entries),
        "</feed>\n",
    ]
    return "\n".join(parts).encode()


def write_error(message: str, now_ms: int) -> str:
    """The entry an error comes as: it has all that a paper has."""
    message = NOT_XML.sub("", message)
    link = f"http://arxiv.org/api/errors#{message.replace(' ', '_')}"
    return (
        f"<entry>\n    <id>{escape(link)}</id>\n    <title>Error</title>\n    <summary>{escape(message)}</summary>\n"
        f"    <updated>{write_seconds(now_ms)}</updated>\n"
        f'    <link href={quoteattr(link)} rel="alternate" type="text/html"/>\n'
        "    <author>\n      <name>arXiv api core</name>\n    </author>\n  </entry>"
    )
