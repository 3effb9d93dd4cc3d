"""Domain file and problem generator of freecell."""
