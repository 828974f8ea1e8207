"""Everything that reads or writes the database; the ports' SQL adapters."""
