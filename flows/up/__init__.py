"""`patra up`: a local Prefect server, a worker and the sandbox."""
