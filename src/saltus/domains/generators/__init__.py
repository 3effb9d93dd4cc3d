"""Domain files and problem generators, one of each per domain."""
