"""The steps of the planning flows, and the page a plan shows."""
