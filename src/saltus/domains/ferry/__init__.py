"""Domain file and problem generator of ferry."""
