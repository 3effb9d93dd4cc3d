"""Domain file and problem generator of blocksworld."""
