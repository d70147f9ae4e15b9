"""Find the source lines behind Python frames and equations."""

from __future__ import annotations

import inspect
import os
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import jax
import jaxlib

_OURS = str(Path(__file__).parents[1])
_INSTALLED = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
_TREES = inspect.getfile(jax.tree_util.tree_flatten)
_JAX = tuple(os.path.dirname(str(package.__file__)) for package in (jax, jaxlib))
_STANDARD_LIBRARY = (sysconfig.get_path("stdlib"), "<frozen")


class Place(NamedTuple):
    """A line of a function."""

    file: str
    line: int
    function: str

    @property
    def source(self) -> str:
        """``/path/file.py:12``"""
        return f"{self.file}:{self.line}"


def is_ours(file: str) -> bool:
    """Return whether a file belongs to jaxmeter."""
    return file.startswith(_OURS)


def is_installed(file: str) -> bool:
    """Return whether a file belongs to an installed package."""
    return file.startswith(_INSTALLED) or "site-packages" in file


def is_jax(file: str) -> bool:
    """Return whether a file belongs to JAX."""
    return file.startswith(_JAX)


def is_python(file: str) -> bool:
    """Return whether a file belongs to Python itself."""
    return file.startswith(_STANDARD_LIBRARY) and not is_installed(file)


def user_places(places: Iterable[Place]) -> list[Place]:
    """Return the lines that are neither JAX's nor Python's own, the innermost first as given.

    The lines that called jaxmeter have no part in the function, so the list ends there.
    """
    found = []
    for place in places:
        if is_ours(place.file):
            break
        if not is_jax(place.file) and not is_python(place.file):
            found.append(place)
    return found


def places_of_equation(equation: Any) -> list[Place]:
    """Return the user's lines behind an equation, the innermost first; [] if JAX kept none."""
    traceback = equation.source_info.traceback
    frames = () if traceback is None else traceback.frames
    return user_places(Place(f.file_name, f.line_num, f.function_name) for f in frames)


def is_over_leaves(equation: Any) -> bool:
    """Return whether an installed package made the equation for one of many leaves of a pytree, as
    optax does for each array of a model."""
    traceback, in_package = equation.source_info.traceback, False
    for frame in () if traceback is None else traceback.frames:
        file = frame.file_name
        if file == _TREES and in_package:
            return True
        if not (is_jax(file) or is_python(file)):
            if not is_installed(file):
                return False
            in_package = True
    return False


def places_of_frame(frame: FrameType | None) -> list[Place]:
    """Return the user's lines of a running frame and its callers, the innermost first."""
    places = []
    # A running thread may end a frame meanwhile: what stands in its place is no frame.
    while isinstance(frame, FrameType):
        places.append(
            Place(frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_qualname)
        )
        frame = frame.f_back
    return user_places(places)


def author_place(places: list[Place]) -> Place | None:
    """Return the innermost line that is not in an installed package, which its author can change;
    else the innermost one; None without lines."""
    own = (place for place in places if not is_installed(place.file))
    return next(own, places[0] if places else None)
