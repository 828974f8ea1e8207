"""The sandbox's Europe PMC."""
