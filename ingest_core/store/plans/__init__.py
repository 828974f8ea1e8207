"""Records triggers; stores plan, slices and tasks in one transaction."""
