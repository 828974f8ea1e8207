"""Messages about changed records, until they are published."""
