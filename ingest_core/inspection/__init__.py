"""Looking at a source before it works: what it compiles to, what it would ask, what comes back."""
