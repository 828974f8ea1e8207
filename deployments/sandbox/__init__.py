"""Simulated providers: their answers, quirks and limits, faults on demand, and the true records."""
