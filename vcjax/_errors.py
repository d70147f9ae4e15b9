"""The one exception that vcjax raises for input it cannot use."""

from collections.abc import Iterator
from contextlib import contextmanager


class VcjaxError(ValueError):
    """Input that vcjax cannot use.

    The message names the call, what it got, and what to try.
    """


@contextmanager
def told_by(call: str) -> Iterator[None]:
    """Errors of the calls inside, in the name of the call that the user made."""
    try:
        yield
    except VcjaxError as error:
        raise VcjaxError(f"{call} {str(error).partition(' ')[2]}") from None
