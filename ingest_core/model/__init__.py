"""Value objects and codes shared by every package."""
