"""Semantic Scholar's `/graph/v1/paper/batch` and `/paper/search/bulk`, by their documented rules."""
