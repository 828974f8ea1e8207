"""DataCite's `/dois`, as its source code and its recordings say it answers."""
