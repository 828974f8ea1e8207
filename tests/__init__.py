"""The tests of Patra Ingest."""
