"""Domain file and problem generator of driverlog."""
