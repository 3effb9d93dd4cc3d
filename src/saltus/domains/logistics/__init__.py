"""Domain file and problem generator of logistics."""
