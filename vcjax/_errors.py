"""What vcjax raises for input it cannot use, and warns of in input that cannot give its digits.

Each warning is a category of its own, for Python's filters: ``warnings.filterwarnings("ignore",
category=vcjax.ContradictionWarning)`` lets currents cross the surface, and "error" in place of
"ignore" makes a warning an error.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import jaxtyping


class VcjaxError(ValueError):
    """Input that vcjax cannot use.

    The message names the call, what it got, and what to try.
    """


class VcjaxWarning(UserWarning):
    """Input whose result will not have the digits asked for."""


class ContradictionWarning(VcjaxWarning):
    """A surface and a field that do not belong together: current or net flux leaves the surface."""


class UnresolvedWarning(VcjaxWarning):
    """A field, a surface or a quadrature too coarse for the digits asked for."""


class NoiseWarning(VcjaxWarning):
    """Noise or a single wrong point, above the digits asked for."""


class AccuracyWarning(VcjaxWarning):
    """A result whose estimated error is above the digits asked for."""


_caller: ContextVar[str | None] = ContextVar("_caller", default=None)
_silent: ContextVar[bool] = ContextVar("_silent", default=False)
# jaxtyping and beartype may wrap the calls of this package.
_WITHIN = (str(Path(__file__).parent), str(Path(jaxtyping.__file__).parent), "<@beartype")


@contextmanager
def errors_named(call: str) -> Iterator[None]:
    """Let errors and warnings of the calls inside name the call that the user made."""
    token = _caller.set(_caller.get() or call)
    try:
        yield
    except VcjaxError as error:
        raise VcjaxError(f"{call} {str(error).partition(' ')[2]}") from None
    finally:
        _caller.reset(token)


@contextmanager
def made_up_data() -> Iterator[None]:
    """Say nothing of the data of the calls inside: they are not the user's."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def warn(call: str, message: str, category: type[VcjaxWarning]) -> None:
    """Warn at the line of the user's code that made the call; the message continues its name."""
    if _silent.get():
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_WITHIN):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{_caller.get() or call} {message}", category, stacklevel=level)
