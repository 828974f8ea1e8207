"""Turns a trigger into a plan: resolves the window, finds what needs reading, estimates sizes, cuts slices."""
