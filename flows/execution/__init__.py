"""The page and the progress of an executor run."""
