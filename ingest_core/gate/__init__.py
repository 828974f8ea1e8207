"""Being kind to providers: turns, waits, and what an error means."""
