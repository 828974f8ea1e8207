"""Sources as configuration: YAML files, `reg_*` rows, and the snapshot they compile to."""
