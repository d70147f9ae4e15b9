"""Show every metric across commits: series, their change points, and one page of all series."""

from .page import write_history as write_history
from .reviews import write_reviews as write_reviews
from .series import make_history as make_history
