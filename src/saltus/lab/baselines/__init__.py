"""Stage `lab.baselines`: other planners and learners, played like a policy."""
