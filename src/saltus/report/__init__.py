"""Stage `report`: records and runs in; tables, plots and pages out; and pages that step through a rollout.

It only reads records and never runs a policy, except for `explain`.
"""

from saltus.report.html import write_page
from saltus.report.page import report_page
from saltus.report.report import Report, make_report

__all__ = ["Report", "make_report", "report_page", "write_page"]
