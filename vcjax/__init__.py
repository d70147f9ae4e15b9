"""Apply the virtual casing principle on toroidal surfaces, in JAX."""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from vcjax._casing import Casing, external_field, internal_field, prepare
from vcjax._dense import DenseOperator, dense_operator
from vcjax._errors import (
    AccuracyWarning,
    ContradictionWarning,
    NoiseWarning,
    UnresolvedWarning,
    VcjaxError,
    VcjaxWarning,
)
from vcjax._geometry.surface import surface_points, surface_tangents
from vcjax._gradient import GradientCasing, external_gradient, internal_gradient, prepare_gradient
from vcjax._off_surface import (
    OffSurface,
    OffSurfaceCasing,
    field_at,
    gradient_at,
    off_surface_field,
    off_surface_gradient,
    prepare_off_surface,
)
from vcjax._options import Config, config
from vcjax._quadrature.choose import choose, choose_off_surface
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.spectrum import spectral_tail
from vcjax._quadrature.tables import (
    GradientTables,
    OffSurfaceTables,
    Tables,
    gradient_tables,
    off_surface_tables,
    tables,
)
from vcjax._trust import error_estimate, self_test
from vcjax._version import VERSION as __version__  # noqa: F401

if TYPE_CHECKING:
    from vcjax import problems, wout

__all__ = [
    "AccuracyWarning",
    "Casing",
    "Config",
    "ContradictionWarning",
    "DenseOperator",
    "GradientCasing",
    "GradientTables",
    "NoiseWarning",
    "OffSurface",
    "OffSurfaceCasing",
    "OffSurfaceTables",
    "Rule",
    "Tables",
    "UnresolvedWarning",
    "VcjaxError",
    "VcjaxWarning",
    "choose",
    "choose_off_surface",
    "config",
    "dense_operator",
    "error_estimate",
    "external_field",
    "external_gradient",
    "field_at",
    "gradient_at",
    "gradient_tables",
    "internal_field",
    "internal_gradient",
    "off_surface_field",
    "off_surface_gradient",
    "off_surface_tables",
    "prepare",
    "prepare_gradient",
    "prepare_off_surface",
    "problems",
    "self_test",
    "spectral_tail",
    "surface_points",
    "surface_tangents",
    "tables",
    "wout",
]


def __getattr__(name: str) -> ModuleType:
    """Import the module `vcjax.problems` or `vcjax.wout` at its first use."""
    if name in ("problems", "wout"):
        return importlib.import_module(f"vcjax.{name}")
    raise AttributeError(f"module 'vcjax' has no attribute {name!r}")
