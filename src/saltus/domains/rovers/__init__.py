"""Domain file and problem generator of rovers."""
