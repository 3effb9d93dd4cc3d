"""Domain file and problem generator of grippers."""
