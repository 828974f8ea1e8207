"""Benchmarks: compared within one run, never timed tests."""
