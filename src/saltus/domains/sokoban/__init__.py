"""Domain file and problem generator of sokoban."""
