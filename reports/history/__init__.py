"""Every metric across commits: series, where they step, and one page to look through them."""

from .page import write_history as write_history
from .reviews import write_reviews as write_reviews
from .series import History as History
from .series import make_history as make_history
