"""Brings a Prefect server in step with what is declared: pool, limits, deployments, schedules, automations."""
