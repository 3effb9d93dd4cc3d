"""Domain file and problem generator of floortile."""
