"""What a harvest should make of an entry: written by hand, straight from the XML."""

from typing import Any

from deployments.sandbox.arxiv.template import ARXIV, ATOM, parse_entry, plain


def expected_record(text: str) -> dict[str, Any]:
    """The common record of one entry; a key with nothing to say is absent."""
    entry = parse_entry(text)
    category = entry.find(f"{ARXIV}primary_category")
    bare_id = plain(entry.find(f"{ATOM}id")).removeprefix("http://arxiv.org/abs/").rpartition("v")[0]
    names = [plain(author.find(f"{ATOM}name")) for author in entry.findall(f"{ATOM}author")]
    doi, journal = plain(entry.find(f"{ARXIV}doi")), plain(entry.find(f"{ARXIV}journal_ref"))
    record = {
        "title": plain(entry.find(f"{ATOM}title")),
        "authors": [{"name": name} for name in names if name],
        "dates": {"published": plain(entry.find(f"{ATOM}published"))[: len("YYYY-MM-DD")]},
        "identifiers": {"arxiv": bare_id, **({"doi": doi.lower()} if doi else {})},
        "journal": {"title": journal} if journal else {},
        "type": "" if category is None else category.get("term", ""),
        "abstract": plain(entry.find(f"{ATOM}summary")),
    }
    return {name: value for name, value in record.items() if value}
