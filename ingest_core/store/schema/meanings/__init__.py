"""What each table and column means, in a sentence; `make docs` writes `docs/reference/tables.md` from them."""
