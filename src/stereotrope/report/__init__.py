"""The report: one HTML page that needs nothing else, its tables and its figures as files.

The report shows what a run stores and computes no statistic: counts of labels for the pictures of the
distributions are all it adds up. A measure it has no words for is shown under its own name.
"""

from stereotrope import escape
from stereotrope.report import numbers
from stereotrope.report.headline import headline
from stereotrope.report.write import write

__all__ = ["escape", "headline", "numbers", "write"]
