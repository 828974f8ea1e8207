"""What a harvest should make of an entry: written by hand, straight from the XML."""

from typing import Any

from deployments.sandbox.arxiv.template import ARXIV, ATOM, parse_entry
from deployments.sandbox.expected import bare_doi, inner_text, real_date, said


def expected_record(text: str) -> dict[str, Any]:
    """The common record of one entry; a key with nothing to say is absent."""
    entry = parse_entry(text)
    category = entry.find(f"{ARXIV}primary_category")
    bare_id = inner_text(entry.find(f"{ATOM}id")).removeprefix("http://arxiv.org/abs/").rpartition("v")[0]
    names = [inner_text(author.find(f"{ATOM}name")) for author in entry.findall(f"{ATOM}author")]
    return said(
        {
            "title": inner_text(entry.find(f"{ATOM}title")),
            "authors": [{"name": name} for name in names if name],
            "dates": said({"published": real_date(inner_text(entry.find(f"{ATOM}published")))}),
            "identifiers": said({"arxiv": bare_id, "doi": bare_doi(inner_text(entry.find(f"{ARXIV}doi")))}),
            "journal": said({"title": inner_text(entry.find(f"{ARXIV}journal_ref"))}),
            "type": "" if category is None else category.get("term", ""),
            "abstract": inner_text(entry.find(f"{ATOM}summary")),
        }
    )
