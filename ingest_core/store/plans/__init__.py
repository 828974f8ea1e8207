"""Triggers, plans, slices and tasks as the planner writes them."""
