"""The Prefect tasks of the planning flows, and the page of a plan."""
