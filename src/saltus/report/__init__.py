"""Stage `report`: records and runs in; tables, plots and pages out; and pages that step through a rollout.

It reads records only and never runs a policy, `explain` excepted.
"""

from saltus.report.gather import Report, gather
from saltus.report.html import write_page
from saltus.report.page import report_page

__all__ = ["Report", "gather", "report_page", "write_page"]
