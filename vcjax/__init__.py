"""The virtual casing principle on toroidal surfaces, in JAX."""

from vcjax._casing import Casing, external_field, internal_field, prepare
from vcjax._chunks import Config, config
from vcjax._dense import DenseOperator, dense_operator
from vcjax._errors import VcjaxError
from vcjax._geometry.surface import surface_points, surface_tangents
from vcjax._gradient import (
    GradientCasing,
    external_gradient,
    internal_gradient,
    prepare_gradient,
)
from vcjax._off_surface import OffSurface, field_at, gradient_at
from vcjax._off_surface_transform import OffSurfaceCasing, prepare_off_surface
from vcjax._quadrature.choose import choose
from vcjax._quadrature.choose_off_surface import (
    choose_off_surface,
    off_surface_field,
    off_surface_gradient,
)
from vcjax._quadrature.gradient_tables import GradientTables, gradient_tables
from vcjax._quadrature.off_surface_tables import OffSurfaceTables, off_surface_tables
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.spectrum import spectral_tail
from vcjax._quadrature.tables import Tables, tables
from vcjax._trust import error_estimate, self_test

__all__ = [
    "Casing",
    "Config",
    "DenseOperator",
    "GradientCasing",
    "GradientTables",
    "OffSurface",
    "OffSurfaceCasing",
    "OffSurfaceTables",
    "Rule",
    "Tables",
    "VcjaxError",
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
    "self_test",
    "spectral_tail",
    "surface_points",
    "surface_tangents",
    "tables",
]
