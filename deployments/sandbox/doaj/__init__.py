"""DOAJ's `/api/search/articles`, as its source code and its recordings say it answers."""
