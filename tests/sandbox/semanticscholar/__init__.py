"""The sandbox's Semantic Scholar."""
