"""Define the error for input that vcjax cannot use, and warnings of results with too few digits.

Each kind of warning has its own category, which Python's warning filters can select. If currents do
cross your surface, silence the warning with
``warnings.filterwarnings("ignore", category=vcjax.ContradictionWarning)``. With "error" in place of
"ignore", Python raises the warning as an exception.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path


class VcjaxError(ValueError):
    """Error raised for input that vcjax cannot use.

    The message names the call, what it got, and what to try.
    """


class VcjaxWarning(UserWarning):
    """Base class for warnings of results that will have fewer digits than requested."""


class ContradictionWarning(VcjaxWarning):
    """Warns that X and B contradict each other: current or net flux crosses the surface."""


class UnresolvedWarning(VcjaxWarning):
    """Warns that a field, a surface or a quadrature is too coarse for the requested digits."""


class NoiseWarning(VcjaxWarning):
    """Warns that noise in B, or an outlier in X or B, is too large for the requested digits."""


class AccuracyWarning(VcjaxWarning):
    """Warns that an estimated error is too large, or that rounding limits the number of digits."""


_caller: ContextVar[tuple[str, Mapping[str, str]] | None] = ContextVar("_caller", default=None)
_silent: ContextVar[bool] = ContextVar("_silent", default=False)
# A file does not belong to the user if its name begins with one of these strings. Such files belong
# to this package, or to jaxtyping and beartype, which may wrap the calls of this package.
_WITHIN = (
    str(Path(__file__).parent),
    *(str(Path(wrapper)) for wrapper in getattr(sys.modules.get("jaxtyping"), "__path__", ())),
    "<@beartype",
)


@contextmanager
def errors_named(call: str, arguments: Mapping[str, str] | None = None) -> Iterator[None]:
    """Name `call`, the call that the user made, in errors and warnings from inside the block.

    `call` replaces the first word of an error message. `arguments` maps names of arguments in
    messages to their names in the user's call. In nested blocks, the outermost call is named.
    """
    given = arguments or {}
    token = _caller.set(_caller.get() or (call, given))
    try:
        yield
    except VcjaxError as error:
        raise VcjaxError(f"{call} {_renamed(str(error).partition(' ')[2], given)}") from None
    finally:
        _caller.reset(token)


def _renamed(message: str, arguments: Mapping[str, str]) -> str:
    for name, given in arguments.items():
        message = message.replace(name, given)
    return message


@contextmanager
def made_up_data() -> Iterator[None]:
    """Inside the block, suppress warnings about data, because vcjax made the data itself."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def warn(call: str, message: str, category: type[Warning], *, about_data: bool = True) -> None:
    """Issue a warning, ``f"{call} {message}"``, at the line of the user's code that made the call.

    Inside `errors_named`, the user's call and arguments are named. Inside `made_up_data`, only
    warnings that are not about data are issued.
    """
    if about_data and _silent.get():
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_WITHIN):
        level, frame = level + 1, frame.f_back
    call, arguments = _caller.get() or (call, {})
    warnings.warn(f"{call} {_renamed(message, arguments)}", category, stacklevel=level)
