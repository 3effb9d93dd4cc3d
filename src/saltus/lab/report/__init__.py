"""Stage `lab.report`: tables, plots and pages from records and training runs, and pages on a rollout.

Except for `explain`, it only reads records and never runs a policy.
"""
