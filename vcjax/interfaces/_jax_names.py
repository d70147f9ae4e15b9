"""Replace the class ``VirtualCasingJAX`` of the package ``virtual_casing_jax``.

Arrays are component-first, (3, nphi, ntheta) or flat. Gradients have the index order
[k, i] = d_i B_k.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import vcjax
from vcjax import Rule, VcjaxError
from vcjax._errors import errors_named
from vcjax._programs.compiled import compiled
from vcjax.interfaces._knobs import NAMES, read_knobs
from vcjax.interfaces._surface_setup import (
    SurfaceSetup,
    check_shape,
    check_targets,
    point_major,
    real_array,
    required,
)


def _on_surface(part: str, evaluate: Callable) -> tuple[Callable, Callable]:
    """Return two methods that compute a quantity on the surface, for one field and for a batch.

    `part` is the name of the quantity, such as "external_gradB".
    """
    kind = "gradient" if part.endswith("gradB") else "field"
    turned = partial(_components_first, kind=kind)

    def method(self: "VirtualCasingJAX", B0: Any, **knobs: Any) -> jax.Array:
        call = f"compute_{part}"
        setup, options = required(self._setup, call), read_knobs(call, kind, knobs)
        B = point_major(call, "B0", B0, setup.src_shape)
        with errors_named(call, NAMES):
            casing = setup.casing(kind, B, **options.casing)
            # The result can reuse the memory of B0 only if both have the same shape.
            if options.donate and np.shape(B0) == (3, *setup.trg_shape) and kind == "field":
                given = B0 if isinstance(B0, jax.Array) else jnp.array(B0)
                chunks = tuple(options.chunks.items())
                return _donating(evaluate, casing, given.astype(float), chunks)
            return turned(evaluate(casing, B, **options.chunks))

    def batch(self: "VirtualCasingJAX", B0_batch: Any, **knobs: Any) -> jax.Array:
        call = f"compute_{part}_batch"
        setup, options = required(self._setup, call), read_knobs(call, kind, knobs)
        given = B0_batch
        if not isinstance(given, list | tuple):
            given = jnp.atleast_1d(real_array(call, "B0_batch", B0_batch))
        if not len(given):
            raise VcjaxError(f"{call} got an empty B0_batch; give at least one field.")
        fields = [point_major(call, "B0", B0, setup.src_shape) for B0 in given]
        with errors_named(call, NAMES):
            casing = setup.casing_for_all(kind, fields, **options.casing)
            one = partial(evaluate, casing, **options.chunks)
            return jax.vmap(lambda B: turned(one(B)))(jnp.stack(fields))

    of_one = f"Return {part} on the target grid from the total field on the source grid."
    of_all = f"Return {part} for each field of a batch (first axis), with one prepared surface."
    name = f"compute_{part}"
    return _named(method, name, of_one), _named(batch, f"{name}_batch", of_all)


def _off_surface(part: str, evaluate: Callable) -> Callable:
    """Return the method that computes a quantity, such as "external_gradB", off the surface."""
    kind = "off_gradient" if part.endswith("gradB") else "off"

    def method(self: "VirtualCasingJAX", B0: Any, *, X_trg: Any, **knobs: Any) -> Any:
        call = f"compute_{part}_offsurf"
        setup, options = required(self._setup, call), read_knobs(call, kind, knobs)
        B = point_major(call, "B0", B0, setup.src_shape)
        points = point_major(call, "X_trg", X_trg)[0]
        with errors_named(call, NAMES):
            found = evaluate(setup.casing(kind, B, **options.casing), B, points, **options.chunks)
        values = _components_first(getattr(found, part.split("_")[0]), kind)
        return (values, found.error) if options.return_estimate else values

    doc = f"Return {part} at points X_trg (3, n); NaN where the data do not determine it."
    return _named(method, f"compute_{part}_offsurf", doc)


def _named(method: Callable, name: str, doc: str) -> Callable:
    """Give a method its name, for `help` and for errors of Python, and its docstring."""
    method.__name__, method.__qualname__ = name, f"VirtualCasingJAX.{name}"
    method.__doc__ = doc
    return method


def _components_first(values: jax.Array, kind: str) -> jax.Array:
    """Move vectors (..., 3) to (3, ...), or gradients (..., i, k) to (k, i, ...)."""
    if kind.endswith("gradient"):
        return jnp.moveaxis(values, (-1, -2), (0, 1))
    return jnp.moveaxis(values, -1, 0)


@compiled({}, static_argnums=(0, 3), donate_argnums=(2,))
def _donating(evaluate: Callable, casing: Any, B0: jax.Array, chunks: tuple) -> jax.Array:
    values = evaluate(casing, B0.transpose(1, 2, 0), **dict(chunks))
    return _components_first(values, "field")


class VirtualCasingJAX:
    """A replacement for ``virtual_casing_jax.VirtualCasingJAX``, version 0.0.10.

    Every ``compute_`` method runs compiled programs and is differentiable. Names that end in
    ``_jit`` or ``_schedule`` are aliases of the methods without these endings. Fields are
    (3, src_nt, src_np) or flat. Results on the surface are fields (3, trg_nt, trg_np) and gradients
    (3, 3, trg_nt, trg_np) with [k, i] = d_i B_k. Points ``X_trg`` off the surface are (3, n);
    results there are fields (3, n) and gradients (3, 3, n).

    ``docs/interfaces.md`` describes each keyword. A keyword without an equivalent in vcjax raises
    `VcjaxError` if ignoring the keyword could change a result.

    Inside your own ``jit``, the prepared surface becomes a constant of the program, unless the
    surface is traced. To pass the prepared surface as an argument, use ``vcjax.prepare`` and
    ``vcjax.external_field``.
    """

    _setup: SurfaceSetup | None = None

    def setup(
        self,
        digits: int,
        nfp: int,
        half_period: bool,
        surf_nt: int,
        surf_np: int,
        X: Any,
        src_nt: int,
        src_np: int,
        trg_nt: int = -1,
        trg_np: int = -1,
    ) -> None:
        """Set the surface, its symmetry and its grids.

        Parameters
        ----------
        digits : accuracy, 1 to 13.
        nfp, half_period : symmetry; see `vcjax.choose`.
        surf_nt, surf_np : numbers of toroidal and poloidal points of the surface.
        X : (3, surf_nt, surf_np) or flat, coordinates of the surface; may be traced.
        src_nt, src_np : numbers of points of the fields.
        trg_nt, trg_np : numbers of points of the results; -1 means the same as the fields.

        Raises
        ------
        VcjaxError : if an argument is invalid, or if the surface is not closed.
        """
        shape = check_shape(surf_nt=surf_nt, surf_np=surf_np)
        src = check_shape(src_nt=src_nt, src_np=src_np)
        trg = check_targets(src, trg_nt=trg_nt, trg_np=trg_np)
        surface = point_major("setup", "X", X, shape)
        self._setup = SurfaceSetup(digits, nfp, half_period, surface, src, trg)

    def plan_precision(self, *, digits: int | None = None, B0: Any = None) -> Rule:
        """Choose a rule for fields, to be passed as ``precision=`` where the surface is traced.

        Parameters
        ----------
        digits : accuracy; if None, the digits given to `setup`.
        B0 : a typical field; if None, the rule is fine enough for every field on the source grid.

        Raises
        ------
        VcjaxError : if `setup` was not called, if the surface is traced, or if an argument is
            invalid.
        """
        setup = required(self._setup, "plan_precision")
        if B0 is not None:
            B0 = point_major("plan_precision", "B0", B0, setup.src_shape)
        with errors_named("plan_precision", NAMES):
            return setup.rule("field", setup.known(B0), digits)

    def get_normal(self) -> jax.Array:
        """Return outward unit normals of the surface at the targets, (3, trg_nt, trg_np).

        Raises
        ------
        VcjaxError : if `setup` was not called, or if the surface is traced.
        """
        normal = required(self._setup, "get_normal").unit_normal("get_normal")
        return _components_first(jnp.asarray(normal), "field")

    compute_external_B, compute_external_B_batch = _on_surface("external_B", vcjax.external_field)
    compute_internal_B, compute_internal_B_batch = _on_surface("internal_B", vcjax.internal_field)
    compute_external_gradB, compute_external_gradB_batch = _on_surface(
        "external_gradB", vcjax.external_gradient
    )
    compute_internal_gradB, compute_internal_gradB_batch = _on_surface(
        "internal_gradB", vcjax.internal_gradient
    )
    compute_external_B_offsurf = _off_surface("external_B", vcjax.field_at)
    compute_internal_B_offsurf = _off_surface("internal_B", vcjax.field_at)
    compute_external_gradB_offsurf = _off_surface("external_gradB", vcjax.gradient_at)
    compute_internal_gradB_offsurf = _off_surface("internal_gradB", vcjax.gradient_at)

    # The methods above run compiled programs and never refine a grid. Therefore the names
    # that virtual_casing_jax gives to compiled methods and to schedules of grids are aliases.
    compute_external_B_jit = compute_external_B
    compute_internal_B_jit = compute_internal_B
    compute_external_gradB_jit = compute_external_gradB
    compute_internal_gradB_jit = compute_internal_gradB
    compute_external_B_offsurf_schedule = compute_external_B_offsurf
    compute_internal_B_offsurf_schedule = compute_internal_B_offsurf
    compute_external_gradB_offsurf_schedule = compute_external_gradB_offsurf
    compute_internal_gradB_offsurf_schedule = compute_internal_gradB_offsurf
    compute_external_B_offsurf_schedule_jit = compute_external_B_offsurf
    compute_internal_B_offsurf_schedule_jit = compute_internal_B_offsurf
    compute_external_gradB_offsurf_schedule_jit = compute_external_gradB_offsurf
    compute_internal_gradB_offsurf_schedule_jit = compute_internal_gradB_offsurf
