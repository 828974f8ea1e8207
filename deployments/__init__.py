"""What is deployed around the harvester: here, the sandbox it can be tried against."""
