"""What a commit changed: findings, their causes, a verdict; Markdown and a page."""

from .comment import review_markdown as review_markdown
from .pages import write_review as write_review
from .reading import sides_of_pair as sides_of_pair
from .reading import sides_of_store as sides_of_store
from .review import Judging as Judging
from .review import Review as Review
from .review import make_review as make_review
