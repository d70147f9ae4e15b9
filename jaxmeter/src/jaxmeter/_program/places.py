"""Find the source lines that belong to Python frames and to equations of a jaxpr."""

from __future__ import annotations

import inspect
import linecache
import os
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NamedTuple

import jax
import jaxlib

# The paths of jax, jaxlib and jaxmeter end with a separator, so that jax does not match jaxopt.
_OURS = os.path.join(Path(__file__).parents[1], "")
_INSTALLED = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
_TREES = inspect.getfile(jax.tree_util.tree_flatten)
_JAX = tuple(os.path.join(package.__path__[0], "") for package in (jax, jaxlib))
_STANDARD_LIBRARY = (sysconfig.get_path("stdlib"), "<frozen")


class Place(NamedTuple):
    """A source line inside a function."""

    file: str
    line: int
    function: str

    @property
    def source(self) -> str:
        """The file and the line, ``/path/file.py:12``."""
        return f"{self.file}:{self.line}"

    @property
    def text(self) -> str:
        """The text of the line, without surrounding spaces; empty if it is not known."""
        return linecache.getline(self.file, self.line).strip()


def owner(file: str) -> Literal["jaxmeter", "JAX", "package", "Python", "user"]:
    """Return the owner of a source file. The owner ``package`` is any installed package except
    jaxmeter, jax and jaxlib."""
    if file.startswith(_OURS):
        return "jaxmeter"
    if file.startswith(_JAX):
        return "JAX"
    if file.startswith(_INSTALLED) or "site-packages" in file:
        return "package"
    return "Python" if file.startswith(_STANDARD_LIBRARY) else "user"


def is_generated(file: str) -> bool:
    """Return whether a name such as ``<string>`` stands for code without a known source."""
    return file.startswith("<") and not linecache.getlines(file)


def user_places(places: Iterable[Place]) -> list[Place]:
    """Return the places in the user's code and in installed packages except JAX.

    The order is kept: in ``places``, the innermost place comes first. The places of jaxmeter, and
    the places that called jaxmeter, are left out.
    """
    found = []
    for place in places:
        whose = owner(place.file)
        if whose == "jaxmeter":
            break
        if whose in ("package", "user"):
            found.append(place)
    return found


def places_of_equation(equation: Any, outer: Sequence[Place] = ()) -> list[Place]:
    """Return the `user_places` that made an equation; empty if they are not known.

    If the equation is in a sub-jaxpr, ``outer`` contains the places of the equation that has this
    sub-jaxpr. From JAX 0.10 on, the places of the inner equation end at the function that was
    traced to the sub-jaxpr, so ``outer`` is added if no inner place is in the user's code.
    """
    traceback = equation.source_info.traceback
    frames = () if traceback is None else traceback.frames
    found = user_places(Place(f.file_name, f.line_num, f.function_name) for f in frames)
    return found if any(owner(place.file) == "user" for place in found) else [*found, *outer]


def is_over_leaves(equation: Any) -> bool:
    """Return whether an installed package made an equation in a loop over the leaves of a pytree,
    as optax does for the arrays of a model."""
    traceback, in_package = equation.source_info.traceback, False
    for frame in () if traceback is None else traceback.frames:
        file = frame.file_name
        if file == _TREES and in_package:
            return True
        whose = owner(file)
        if whose in ("user", "jaxmeter"):
            return False
        in_package = in_package or whose == "package"
    return False


def places_of_frame(frame: FrameType | None) -> list[Place]:
    """Return the `user_places` of a frame and of the frame's callers, the innermost first."""
    places = []
    while frame is not None:
        places.append(
            Place(frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_qualname)
        )
        frame = frame.f_back
    return user_places(places)


def author_place(places: Sequence[Place]) -> Place | None:
    """Return the innermost place in the user's code. If no place is in the user's code, return the
    innermost place; return None if there are no places.

    A place in generated code, such as the constructor of a dataclass, is returned only if all
    places in the user's code are generated, as in ``python -c``.
    """
    own = [place for place in places if owner(place.file) == "user"]
    written = (place for place in own if not is_generated(place.file))
    return next(written, (own or [*places, None])[0])
