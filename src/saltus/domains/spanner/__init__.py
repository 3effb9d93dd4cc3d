"""Domain file and problem generator of spanner."""
