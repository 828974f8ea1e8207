"""Flawed records are spread over a result; they do not follow one another on one page."""

from deployments.sandbox.corpus import Corpus
from deployments.sandbox.settings import Settings
from deployments.sandbox.zenodo.catalogue import Catalogue, template_of

PAGE = 25


def test_a_page_in_order_of_creation_holds_at_most_a_few_records_with_a_flaw() -> None:
    corpus = Corpus(Settings(works=3000))
    catalogue = Catalogue(corpus)
    oldest = sorted(range(len(corpus)), key=catalogue.created_ms)
    flaws = [template_of(work).reason is not None for work in oldest]

    pages = [sum(flaws[at : at + PAGE]) for at in range(0, len(flaws), PAGE)]

    assert 0 < max(pages) <= 3


def test_later_versions_of_an_upload_are_created_after_earlier_ones() -> None:
    catalogue = Catalogue(Corpus(Settings(works=100)))
    made = [catalogue.created_ms(work) for work in range(100)]
    assert made == sorted(set(made))
