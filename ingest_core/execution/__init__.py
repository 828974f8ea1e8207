"""Works a task: renders requests (request.py), decodes pages, decides what each record does and how it ends."""
