"""What every process sets up: application, logs, signals, environment."""
