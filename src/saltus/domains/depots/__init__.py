"""Domain file and problem generator of depots."""
