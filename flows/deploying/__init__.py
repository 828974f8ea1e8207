"""`patra deploy`: a server's work pool, limits, deployments, schedules and automations."""
