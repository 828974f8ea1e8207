"""Working a task: requests, pages, records, and what became of them."""
