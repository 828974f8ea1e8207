"""What DOAJ does to a query before its search engine reads it."""

import re

WILDCARD = re.compile(r".+[^\\][?*]", re.DOTALL)
FUZZY = re.compile(r".+[^\\]~", re.DOTALL)
SHORT_NAME = re.compile(r"(?<![\w.\\])(\w+)(?=:)")
JOINED = (" AND ", " OR ")
SHORT_NAMES = {
    "title": "bibjson.title",
    "doi": "bibjson.identifier.id.exact",
    "abstract": "bibjson.abstract",
    "author": "bibjson.author.name",
    "journal": "bibjson.journal.title",
    "publisher": "bibjson.journal.publisher",
    "issn": "bibjson.journal.issns.exact",
    "year": "bibjson.year.exact",
    "license": "bibjson.journal.license.title.exact",
}


def allowed(query: str) -> bool:
    """False for wildcards and fuzzy searches, even within quotes."""
    return not (WILDCARD.match(query) or FUZZY.match(query))


def full_names(query: str) -> str:
    """The query with short field names written out."""
    return SHORT_NAME.sub(lambda found: SHORT_NAMES.get(found[1], found[1]), query)


def escape_colons(query: str) -> str:
    """Take every colon for text, save the first and those with an AND or OR before them."""
    parts = query.split(":")
    for place in range(1, len(parts) - 1):
        part = parts[place]
        if not part.endswith("\\") and not any(word in part for word in JOINED):
            parts[place] = f"{part}\\"
    return ":".join(parts)
