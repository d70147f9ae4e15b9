"""Make virtual casing problems with known answers.

Currents outside a surface make the external field, and currents inside make the internal field.
Both fields are computed with the Biot-Savart law, accurate to rounding. `w7x`, `rotating_ellipse`
and `axisymmetric` return ready-made problems; `known_problem` makes a problem from any surface and
any currents.
"""

from vcjax.problems._catalogue import axisymmetric, rotating_ellipse, tokamak_coils, w7x
from vcjax.problems._filaments import CentralConductor, Filament, PoloidalCoil, ToroidalLoop
from vcjax.problems._problem import Problem, known_problem, magnetic_field, magnetic_field_gradient
from vcjax.problems._surfaces import (
    Surface,
    circular_torus,
    rotating_ellipse_surface,
    shaped_torus,
    w7x_boundary,
)

__all__ = [
    "CentralConductor",
    "Filament",
    "PoloidalCoil",
    "Problem",
    "Surface",
    "ToroidalLoop",
    "axisymmetric",
    "circular_torus",
    "known_problem",
    "magnetic_field",
    "magnetic_field_gradient",
    "rotating_ellipse",
    "rotating_ellipse_surface",
    "shaped_torus",
    "tokamak_coils",
    "w7x",
    "w7x_boundary",
]
