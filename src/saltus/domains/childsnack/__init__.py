"""Domain file and problem generator of childsnack."""
