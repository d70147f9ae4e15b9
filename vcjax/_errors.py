"""The one exception that vcjax raises for input it cannot use."""

from collections.abc import Iterator
from contextlib import contextmanager


class VcjaxError(ValueError):
    """Input that vcjax cannot use.

    The message names the call, what it got, and what to try.
    """


@contextmanager
def errors_named(call: str) -> Iterator[None]:
    """Let errors of the calls inside name the call that the user made."""
    try:
        yield
    except VcjaxError as error:
        raise VcjaxError(f"{call} {str(error).partition(' ')[2]}") from None
