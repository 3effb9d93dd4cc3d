"""Domain file and problem generator of reward."""
