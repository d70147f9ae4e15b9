"""Make tables, figures and pages from stored measurements."""

from .errors import ReportError as ReportError
from .report import make_report as make_report
from .report import write_report as write_report
from .store.load import read_store as read_store
