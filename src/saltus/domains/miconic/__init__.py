"""Domain file and problem generator of miconic."""
