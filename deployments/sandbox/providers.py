"""The providers the sandbox simulates; a new one is a sibling package and a line here."""

from collections.abc import Callable

from deployments.sandbox.arxiv.api import ArxivApi
from deployments.sandbox.biorxiv.api import BiorxivApi, MedrxivApi
from deployments.sandbox.clinicaltrials.api import ClinicalTrialsApi
from deployments.sandbox.crossref.api import CrossrefApi
from deployments.sandbox.datacite.api import DataciteApi
from deployments.sandbox.doaj.api import DoajApi
from deployments.sandbox.europepmc.api import EuropePmcApi
from deployments.sandbox.openalex.api import OpenAlexApi
from deployments.sandbox.present import Present
from deployments.sandbox.provider import Provider
from deployments.sandbox.pubmed.api import PubmedApi
from deployments.sandbox.semanticscholar.api import SemanticScholarApi
from deployments.sandbox.settings import Behaviour
from deployments.sandbox.shelf.api import ShelfApi
from deployments.sandbox.zenodo.api import ZenodoApi

PROVIDERS: dict[str, Callable[[Present, Behaviour], Provider]] = {
    "crossref": CrossrefApi,
    "clinicaltrials": ClinicalTrialsApi,
    "biorxiv": BiorxivApi,
    "medrxiv": MedrxivApi,
    "arxiv": ArxivApi,
    "pubmed": PubmedApi,
    "openalex": OpenAlexApi,
    "europepmc": EuropePmcApi,
    "semanticscholar": SemanticScholarApi,
    "datacite": DataciteApi,
    "doaj": DoajApi,
    "zenodo": ZenodoApi,
    "shelf": ShelfApi,
}
