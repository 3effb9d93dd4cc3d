"""Domain file and problem generator of goldminer."""
