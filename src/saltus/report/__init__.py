"""Stage `report`: tables, plots and pages from records and training runs, and pages that step through a rollout.

Except for `explain`, it only reads records and never runs a policy.
"""

from saltus.report.html import write_page
from saltus.report.page import report_page
from saltus.report.report import Report, make_report

__all__ = ["Report", "make_report", "report_page", "write_page"]
