"""Domain file and problem generator of transport."""
