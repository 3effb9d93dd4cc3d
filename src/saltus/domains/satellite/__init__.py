"""Domain file and problem generator of satellite."""
