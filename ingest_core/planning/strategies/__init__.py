"""The ways to cut a window into slices; each is a module and a code."""
