"""From a trigger to exactly the right work: window, slices, tasks."""
