"""A record's common fields as people read them."""

from flows.text.record import record_facts


def test_a_record_is_read_without_brackets() -> None:
    authors = [{"name": f"Author {number}", "orcid": "0000"} for number in range(7)]
    record = {"authors": authors, "dates": {"published": "2015-04-07"}, "journal": {"issn": ["1", "2"]}, "title": "T"}

    assert list(record_facts(record)) == [
        ("title", "T"),
        ("authors", "Author 0, Author 1, Author 2, Author 3, Author 4 and 2 more"),
        ("dates", "published 2015-04-07"),
        ("journal", "issn 1, 2"),
    ]
