"""Stage `lab.experiment`: a file in; trained systems, records and a report out.

A file names systems, domains and seeds. What is missing is trained and played, and an experiment that was killed at any
point goes on where it was.
"""
