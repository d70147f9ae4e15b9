"""Reports: stored measurements in, tables, figures and one page out."""

from .document.write import write_report as write_report
from .errors import ReportError as ReportError
from .load import read_store as read_store
from .load_asv import read_asv as read_asv
from .report import make_report as make_report
