"""OpenAlex's `/works`, in its recorded shape and by its documented rules."""
