"""Domain file and problem generator of grid."""
