"""A small part of Lucene's query language, as DataCite, DOAJ and Zenodo understand it."""
