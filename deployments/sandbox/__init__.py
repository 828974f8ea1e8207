"""A stand-in for the providers: same answers, same quirks, known truth, faults on demand."""
