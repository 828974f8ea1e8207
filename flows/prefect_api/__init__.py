"""Prefect's client, the names of flow runs, and a worker that ends its runs before it stops."""
