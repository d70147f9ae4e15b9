"""The names of the package ``virtual_casing_jax`` on vcjax: ``VirtualCasingJAX``.

Its arrays are component-first, (3, nphi, ntheta) or flat; gradients [k, i] = d_i B_k.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

import vcjax
from vcjax import Rule, VcjaxError
from vcjax.interfaces._surface_setup import SurfaceSetup, check_shape, required

_WHOLE = 2**31 - 1
_WITHOUT_EFFECT = frozenset(
    ("pou_dtype", "remat", "hedgehog_order", "max_Nt", "max_Np", "max_levels", "levels", "adaptive")
)
_REFUSED = {
    "quad_nt": "the quadrature follows from digits and field",
    "quad_np": "the quadrature follows from digits and field",
    "patch_dim0": "patches follow from digits and surface",
    "patch_idx": "patches follow from digits and surface",
    "X_trg": "for points off the surface call the form with _offsurf",
}


@dataclass(frozen=True)
class _Knobs:
    """The keyword arguments of a call, in vcjax's terms.

    Attributes
    ----------
    digits, rule : accuracy, or a quadrature already chosen.
    chunks : sizes of the tiles of the sum over pairs.
    near : how weights of the near part are kept; empty off the surface.
    donate : the field may be overwritten.
    return_estimate : give the estimated errors as well.
    """

    digits: int | None
    rule: Rule | None
    chunks: dict[str, int | str]
    near: dict[str, int | str]
    donate: bool
    return_estimate: bool


def _on_surface(part: str, evaluate: Callable, kind: str) -> tuple[Callable, Callable]:
    """Methods of a quantity on the surface: for one field and for a batch of them."""
    turned = _TURNED[kind]

    def method(self: "VirtualCasingJAX", B0: Any, **knobs: Any) -> jax.Array:
        setup, options = self._begin(f"compute_{part}", knobs)
        B = _vectors(f"compute_{part}", "B0", B0, setup.src_shape)
        casing = setup.casing(kind, B, options.digits, options.rule, **options.near)
        # Only an array of the result's shape can become the result.
        if options.donate and np.shape(B0) == (3, *setup.trg_shape) and kind == "field":
            return _donating(evaluate, casing, jnp.asarray(B0), tuple(options.chunks.items()))
        return turned(evaluate(casing, B, **options.chunks))

    def batch(self: "VirtualCasingJAX", B0_batch: Any, **knobs: Any) -> jax.Array:
        setup, options = self._begin(f"compute_{part}_batch", knobs)
        fields = [_vectors(f"compute_{part}_batch", "B0", B0, setup.src_shape) for B0 in B0_batch]
        casing = setup.casing_for_all(kind, fields, options.digits, options.rule, **options.near)
        one = partial(evaluate, casing, **options.chunks)
        return jax.vmap(lambda B: turned(one(B)))(jnp.stack(fields))

    method.__doc__ = f"{part} on the target grid, of the total field on the source grid."
    batch.__doc__ = f"{part} of each of a batch of fields; the surface is prepared once."
    return method, batch


def _off_surface(part: str, evaluate: Callable, kind: str) -> Callable:
    """The method of a quantity at points off the surface."""

    def method(self: "VirtualCasingJAX", B0: Any, *, X_trg: Any, **knobs: Any) -> Any:
        call = f"compute_{part}_offsurf"
        setup, options = self._begin(call, knobs)
        B = _vectors(call, "B0", B0, setup.src_shape)
        points = _vectors(call, "X_trg", X_trg, (1, max(1, np.size(X_trg) // 3)))[0]
        casing = setup.casing(kind, B, options.digits, options.rule)
        found = evaluate(casing, B, points, **options.chunks)
        values = _TURNED[kind](getattr(found, part.split("_")[0]))
        return (values, found.error) if options.return_estimate else values

    method.__doc__ = f"{part} at points (3, n); NaN on the side where the data do not tell it."
    return method


def _vector_first(values: jax.Array) -> jax.Array:
    """(..., 3) to (3, ...)."""
    return jnp.moveaxis(values, -1, 0)


def _gradient_first(gradient: jax.Array) -> jax.Array:
    """(..., i, k) to (k, i, ...)."""
    return jnp.moveaxis(gradient, (-1, -2), (0, 1))


_TURNED = {
    "field": _vector_first,
    "off": _vector_first,
    "gradient": _gradient_first,
    "off_gradient": _gradient_first,
}


@partial(jax.jit, static_argnums=(0, 3), donate_argnums=2)
def _donating(evaluate: Callable, casing: Any, B0: jax.Array, chunks: tuple) -> jax.Array:
    return _vector_first(evaluate(casing, B0.transpose(1, 2, 0), **dict(chunks)))


class VirtualCasingJAX:
    """``virtual_casing_jax.VirtualCasingJAX`` on vcjax; arguments, forms and knobs of 0.0.10.

    Every form is compiled and differentiable; those with ``_jit`` and ``_schedule`` are the same
    function under another name. Fields are (3, src_nt, src_np) or flat; results (3, trg_nt,
    trg_np), gradients (3, 3, trg_nt, trg_np) with [k, i] = d_i B_k; at n points ``X_trg``, (3, n),
    they are (3, n) and (3, 3, n).

    ====================================  =====================================================
    keyword                               effect
    ====================================  =====================================================
    digits                                accuracy other than that of `setup`
    chunk_size, target_chunk_size         tiles of the sum over pairs; None for a single one
    patch_dtype                           "float32": near weights in float32, error about 1e-7
    interp_block_size                     targets whose weights are made at once; None for all
    scan_targets                          near weights recomputed at each call, not stored
    precision                             a rule from `plan_precision`
    donate                                the field's memory may become the result, where the
                                          target grid is the source grid
    return_estimate                       off the surface: (values, estimated error per point)
    pou_dtype, remat, hedgehog_order,     none: there is no partition of unity, nothing is
    levels, max_levels, max_Nt, max_Np,   extrapolated or refined, memory is always bounded
    adaptive
    quad_nt, quad_np, patch_dim0,         refused unless None
    patch_idx; X_trg on the surface
    ====================================  =====================================================

    Under a ``jit`` of your own the casing is a constant of the program; ``vcjax.prepare`` and
    ``vcjax.external_field`` take it as an argument.
    """

    def __init__(self) -> None:
        self._setup: SurfaceSetup | None = None

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
        trg_nt: int,
        trg_np: int,
    ) -> None:
        """Set surface, symmetry and grids; X is (3, surf_nt, surf_np) or flat, may be traced."""
        shape = check_shape("setup", surf_nt=surf_nt, surf_np=surf_np)
        self._setup = SurfaceSetup(
            digits,
            nfp,
            half_period,
            _vectors("setup", "X", X, shape),
            check_shape("setup", src_nt=src_nt, src_np=src_np),
            check_shape("setup", trg_nt=trg_nt, trg_np=trg_np),
        )

    def plan_precision(self, *, digits: int | None = None, B0: Any = None) -> Rule:
        """The quadrature of the surface, for ``precision=`` where the surface is traced.

        Parameters
        ----------
        digits : accuracy other than that of `setup`.
        B0 : a typical field; without one the rule serves all that the source grid can hold.
        """
        setup = required(self._setup, "plan_precision")
        if B0 is not None:
            B0 = np.asarray(_vectors("plan_precision", "B0", B0, setup.src_shape))
        return setup.rule("field", B0, digits)

    def precompute_singular(self, B0: Any = None, **knobs: Any) -> None:
        """Make the near weights now, for fields like B0, instead of at the first evaluation."""
        setup, options = self._begin("precompute_singular", knobs)
        if B0 is not None:
            B0 = _vectors("precompute_singular", "B0", B0, setup.src_shape)
        setup.casing("field", B0, options.digits, options.rule, **options.near)

    def get_normal(self) -> jax.Array:
        """Outward unit normals on the target grid, (3, trg_nt, trg_np)."""
        return _vector_first(jnp.asarray(required(self._setup, "get_normal").unit_normal()))

    def _begin(self, call: str, knobs: dict[str, Any]) -> tuple[SurfaceSetup, _Knobs]:
        return required(self._setup, call), _read(call, knobs)

    compute_external_B, compute_external_B_batch = _on_surface(
        "external_B", vcjax.external_field, "field"
    )
    compute_internal_B, compute_internal_B_batch = _on_surface(
        "internal_B", vcjax.internal_field, "field"
    )
    compute_external_gradB, compute_external_gradB_batch = _on_surface(
        "external_gradB", vcjax.external_gradient, "gradient"
    )
    compute_internal_gradB, compute_internal_gradB_batch = _on_surface(
        "internal_gradB", vcjax.internal_gradient, "gradient"
    )
    compute_external_B_offsurf = _off_surface("external_B", vcjax.field_at, "off")
    compute_internal_B_offsurf = _off_surface("internal_B", vcjax.field_at, "off")
    compute_external_gradB_offsurf = _off_surface(
        "external_gradB", vcjax.gradient_at, "off_gradient"
    )
    compute_internal_gradB_offsurf = _off_surface(
        "internal_gradB", vcjax.gradient_at, "off_gradient"
    )

    # Everything is compiled, and nothing refined: the other forms are the same.
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


def build_offsurface_levels(
    nt0: int, np0: int, max_Nt: int = -1, max_Np: int = -1, max_levels: int = 6
) -> tuple[tuple[int, int], ...]:
    """Doubling grids from (nt0, np0) up to the caps, as ``levels=`` takes them.

    For programs that build such a schedule; here the grid is fine enough without, and ``levels``
    has no effect.
    """
    levels = [(nt0 * 2**k, np0 * 2**k) for k in range(max(1, max_levels))]
    caps = [cap if cap > 0 else _WHOLE for cap in (max_Nt, max_Np)]
    fitting = tuple(level for level in levels if level[0] <= caps[0] and level[1] <= caps[1])
    return fitting or (levels[0],)


def _read(call: str, knobs: dict[str, Any]) -> _Knobs:
    """Knobs in vcjax's terms; those that would change a result unseen are refused."""
    known = dict(knobs)
    for name, reason in _REFUSED.items():
        if known.pop(name, None) is not None:
            raise VcjaxError(f"{call} got {name}={knobs[name]!r}; leave it None: {reason}.")
    for name in _WITHOUT_EFFECT:
        known.pop(name, None)
    chunks = {
        name: _WHOLE if (size := known.pop(name, "auto")) is None else size
        for name in ("chunk_size", "target_chunk_size")
    }
    patch, block = known.pop("patch_dtype", None), known.pop("interp_block_size", "auto")
    weights = "float64"
    if patch is not None and patch != "auto" and np.dtype(patch) == np.float32:
        weights = "float32"
    if known.pop("scan_targets", False):
        weights = "streamed"
    read = _Knobs(
        digits=known.pop("digits", None),
        rule=known.pop("precision", None),
        chunks=chunks,
        near={"near_weights": weights, "near_block_size": _WHOLE if block is None else block},
        donate=bool(known.pop("donate", False)),
        return_estimate=bool(known.pop("return_estimate", False)),
    )
    if known:
        raise VcjaxError(f"{call} got {', '.join(sorted(known))}, which it does not know.")
    return read


def _vectors(call: str, name: str, values: Any, shape: tuple[int, int]) -> Any:
    """(nphi, ntheta, 3) from (3, nphi, ntheta) or flat; a tracer stays one."""
    values = values if isinstance(values, jax.Array) else np.asarray(values)
    flat, first = (3 * shape[0] * shape[1],), (3, *shape)
    if values.shape not in (flat, first) and not (shape[0] == 1 and values.shape == (3, shape[1])):
        raise VcjaxError(
            f"{call} got {name} of shape {values.shape}; give {first} or {flat}: component first."
        )
    moved = values.reshape(first).transpose(1, 2, 0)
    return moved if isinstance(moved, Tracer) else moved.astype(float)
