"""Europe PMC's `/search`, in its recorded shape and by its documented rules."""
