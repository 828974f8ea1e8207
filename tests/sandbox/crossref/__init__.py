"""The records expected of the sandbox's Crossref."""
