"""The virtual casing principle on toroidal surfaces, in JAX."""

from vcjax._errors import VcjaxError
from vcjax._surface import surface_points, surface_tangents

__all__ = ["VcjaxError", "surface_points", "surface_tangents"]
