"""What an executor run shows: its progress and its page."""
