"""The sandbox, compose file, Kubernetes manifests and automations."""
