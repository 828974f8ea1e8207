"""Tests of the sandbox's PubMed."""
