"""Every promise of the stores, on every database."""
