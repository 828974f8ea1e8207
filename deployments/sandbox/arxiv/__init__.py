"""arXiv's `/api/query`, in Atom."""
