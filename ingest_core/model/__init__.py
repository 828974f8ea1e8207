"""Values and codes that all packages share: windows, tasks, leases, checkpoints, records, errors."""
