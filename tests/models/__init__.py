"""Models: what must be true, worked out without the product, or with its parts on a bench of lists."""
