"""Adapters and programs against something real that a test starts: a server on the loopback, a process, a file."""
