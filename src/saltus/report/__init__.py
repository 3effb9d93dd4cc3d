"""Stage `report`: records and runs in; tables, plots and pages out; and pages that step through a rollout.

It reads records only and never runs a policy, `explain` excepted.
"""

from saltus.report.html import write_page
from saltus.report.page import report_page
from saltus.report.report import Report, make_report

__all__ = ["Report", "make_report", "report_page", "write_page"]
