"""Domain file and problem generator of delivery."""
