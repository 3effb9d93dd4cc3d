"""Domain file and problem generator of visitall."""
