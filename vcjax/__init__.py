"""The virtual casing principle on toroidal surfaces, in JAX."""

from vcjax._casing import Casing, external_field, internal_field, prepare
from vcjax._choose import choose
from vcjax._chunks import Config, config
from vcjax._errors import VcjaxError
from vcjax._gradient import (
    GradientCasing,
    external_gradient,
    internal_gradient,
    prepare_gradient,
)
from vcjax._gradient_tables import GradientTables, gradient_tables
from vcjax._rule import Rule
from vcjax._spectrum import spectral_tail
from vcjax._surface import surface_points, surface_tangents
from vcjax._tables import Tables, tables
from vcjax._trust import error_estimate, self_test

__all__ = [
    "Casing",
    "Config",
    "GradientCasing",
    "GradientTables",
    "Rule",
    "Tables",
    "VcjaxError",
    "choose",
    "config",
    "error_estimate",
    "external_field",
    "external_gradient",
    "gradient_tables",
    "internal_field",
    "internal_gradient",
    "prepare",
    "prepare_gradient",
    "self_test",
    "spectral_tail",
    "surface_points",
    "surface_tangents",
    "tables",
]
