"""Review a commit: findings, their causes and a verdict, as a page, Markdown and JSON."""

from .judgements import judgements as judgements
from .output import review_markdown as review_markdown
from .output import write_review as write_review
from .read import read_commits as read_commits
from .read import read_pair as read_pair
from .verdict import Policy as Policy
from .verdict import make_review as make_review
