"""Hold one surface for the classes of this package; prepare it at the first field."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Float

import vcjax
from vcjax import Rule, VcjaxError
from vcjax._checks import check_concrete, check_grid, check_integer
from vcjax._data_checks.watch import check_evaluated
from vcjax._errors import made_up_data
from vcjax._geometry.surface import outward_normals, surface_frame
from vcjax._quadrature.choose import MAX_DIGITS, resolves


@dataclass(frozen=True)
class CasingOptions:
    """Options of the casing that a call uses.

    Attributes
    ----------
    digits : accuracy; None for the accuracy of the set-up.
    rule : a quadrature chosen before, used in place of one chosen for the field.
    options : on the surface, options of `vcjax.prepare`; off it, of `vcjax.choose_off_surface`.
    """

    digits: int | None = None
    rule: Rule | None = None
    options: dict[str, Any] = field(default_factory=dict)


_DEFAULT = CasingOptions()


@dataclass(eq=False)
class SurfaceSetup:
    """A surface, its grids and the digits; casings are prepared once and kept.

    The packages that this package replaces fix their quadrature before they see a field. Here a
    casing is prepared for the first field, and again only for a field that it does not resolve.
    Any casing serves a field that is zero.

    Attributes
    ----------
    digits, nfp, half_period : as for `vcjax.choose`.
    X : (nphi, ntheta, 3) points of the surface. If X is traced, each call needs a rule.
    src_shape, trg_shape : (nphi, ntheta) of the fields and of the results.
    verified : casings tried on a known field.
    """

    digits: int
    nfp: int
    half_period: bool
    X: Any
    src_shape: tuple[int, int]
    trg_shape: tuple[int, int]
    verified: "WeakSet[Any]" = field(default_factory=WeakSet)
    _held: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.digits = check_integer("setup", "digits", self.digits, 1, MAX_DIGITS)
        if not isinstance(self.X, Tracer):
            self.X = np.asarray(self.X)
            # Refuse a bad surface here rather than at the first field.
            self.unit_normal("setup")

    def casing(self, kind: str, B: Any, wanted: CasingOptions = _DEFAULT) -> Any:
        """Return the casing for fields as fine as B; prepare it if there is none.

        Parameters
        ----------
        kind : "field", "gradient", "off" or "off_gradient".
        B : (src_nphi, src_ntheta, 3) field. If traced or None: every field that the grid can hold.
        wanted : options of the casing.
        """
        if wanted.rule is not None and kind != "field":
            raise VcjaxError(
                "casing got a rule (precision=), which is for fields on the surface only; "
                "leave it out for gradients and for points off the surface."
            )
        known = self.known(B)
        digits = self.digits if wanted.digits is None else wanted.digits
        key = kind, wanted.rule or digits, *sorted(wanted.options.items())
        # Casings for one field and casings for all fields have separate keys.
        for_all = known is None and wanted.rule is None
        for of_all in (True,) if for_all else (False, True):
            held = self._held.get((of_all, *key))
            if held is not None and (wanted.rule or self._resolves(kind, held.rule, known, digits)):
                return self._watched(held, known)
        caps, options = {}, wanted.options
        if kind.startswith("off"):
            caps, options = options, caps
        rule = wanted.rule or self.rule(kind, known, digits, **caps)
        held = self._held.get((for_all, *key))
        if held is not None and held.rule == rule:  # the caps allow no finer rule
            return self._watched(held, known)
        if isinstance(self.X, Tracer):
            return _PREPARE[kind](rule, self.X, **options)
        # Evaluate now, also under a trace of B: traced arrays cannot be kept.
        with jax.ensure_compile_time_eval():
            made = _PREPARE[kind](rule, self.X, **options)
        self._held[for_all, *key] = made
        return self._watched(made, known)

    def casing_for_all(self, kind: str, fields: Sequence[Any], wanted: CasingOptions) -> Any:
        """Return a casing that resolves each of several fields; arguments as for `casing`."""
        if wanted.rule is not None:
            return [self.casing(kind, B, wanted) for B in fields][0]
        *_, last = (self.casing(kind, B, wanted) for B in fields)
        if all(self.casing(kind, B, wanted) is last for B in fields):
            return last
        return self.casing(kind, None, wanted)

    def rule(self, kind: str, B: np.ndarray | None, digits: int | None = None, **caps: Any) -> Rule:
        """Return the quadrature for a field, or for all fields of the grid if B is None."""
        if isinstance(self.X, Tracer):
            raise VcjaxError(
                "rule got a traced surface, which cannot determine array sizes. Call setup and "
                "plan_precision() outside jit and grad, and pass its result as precision=."
            )
        if B is None or not B.any():
            with made_up_data():
                made_up = self._toroidal_field(ripples=B is None)
                return self._chosen(kind, made_up, digits, caps)
        return self._chosen(kind, B, digits, caps)

    def _chosen(self, kind: str, B: np.ndarray, digits: int | None, caps: dict[str, Any]) -> Rule:
        options: dict[str, Any] = {"nfp": self.nfp, "half_period": self.half_period}
        options["gradient"] = kind.endswith("gradient")
        digits = self.digits if digits is None else digits
        if kind.startswith("off"):
            return vcjax.choose_off_surface(self.X, B, digits, **options, **caps)
        trg = dict(zip(("trg_nphi", "trg_ntheta"), self.trg_shape, strict=True))
        return vcjax.choose(self.X, B, digits, **options, **trg)

    def unit_normal(self, call: str) -> Float[np.ndarray, "trg_nphi trg_ntheta 3"]:
        """Return outward unit normals on the target grid."""
        symmetry = self.nfp, self.half_period
        return outward_normals(*surface_frame(call, self.X, *symmetry, *self.trg_shape))

    def known(self, B: Any) -> np.ndarray | None:
        """Return the checked values of B; None if B is None or traced."""
        if B is None or isinstance(B, Tracer):
            return None
        check_concrete("casing", "B", B, self.src_shape)
        return np.asarray(B)

    def _watched(self, casing: Any, B: np.ndarray | None) -> Any:
        """Return the casing; check a field that reaches it as a tracer, in a batch for example."""
        if B is not None:
            check_evaluated("casing", casing, B)
        return casing

    def _resolves(self, kind: str, rule: Rule, B: np.ndarray | None, digits: int) -> bool:
        if B is None or not B.any():
            return True
        return resolves(rule, B, digits, gradient=kind.endswith("gradient"))

    def _toroidal_field(self, *, ripples: bool) -> Float[np.ndarray, "src_nphi src_ntheta 3"]:
        """Return the field of a conductor on the axis, with the finest ripples of the grid."""
        nphi, ntheta = self.src_shape
        symmetry = self.nfp, self.half_period
        points, _, _ = surface_frame("setup", self.X, *symmetry, nphi, ntheta)
        rows, columns = np.arange(nphi)[:, None], np.arange(ntheta)
        if self.half_period:
            along_phi = np.cos((nphi - 1) * np.pi * (rows + 0.5) / nphi)
        else:
            along_phi = np.cos(nphi // 2 * 2 * np.pi * rows / nphi)
        fine = along_phi + np.cos(ntheta // 2 * 2 * np.pi * columns / ntheta)
        # As large as the field, so that every number of digits resolves them.
        strength = (1 + ripples * fine) / (points[..., :2] ** 2).sum(axis=-1)
        x, y = points[..., 0], points[..., 1]
        return np.stack([-y * strength, x * strength, 0 * x], axis=-1)


_PREPARE = {
    "field": vcjax.prepare,
    "gradient": vcjax.prepare_gradient,
    "off": vcjax.prepare_off_surface,
    "off_gradient": vcjax.prepare_off_surface,
}


def required(setup: SurfaceSetup | None, call: str) -> SurfaceSetup:
    """Return the set-up; raise if `setup` was not called."""
    if setup is None:
        raise VcjaxError(f"{call} got no surface yet; call setup(...) first.")
    return setup


def check_shape(call: str, **counts: Any) -> tuple[int, int]:
    """Return the checked numbers of points along phi and theta."""
    nphi, ntheta = (check_grid(call, name, count) for name, count in counts.items())
    return nphi, ntheta


def check_targets(call: str, src: tuple[int, int], **counts: Any) -> tuple[int, int]:
    """Return the checked target grid; -1 means the number of the source grid."""
    given = {
        name: own if isinstance(count, int | np.integer) and count == -1 else count
        for (name, count), own in zip(counts.items(), src, strict=True)
    }
    return check_shape(call, **given)


def real_array(call: str, name: str, values: Any) -> jax.Array | np.ndarray:
    """Return the values as an array of real numbers."""
    try:
        array = values if isinstance(values, jax.Array) else np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise VcjaxError(
            f"{call} got {name} that is not an array ({error}); give rows of equal length."
        ) from error
    if array.dtype.kind not in "biuf":
        raise VcjaxError(
            f"{call} got {name} of type {type(values).__name__}, dtype {array.dtype}; give real "
            "numbers, component first."
        )
    return array


def point_major(
    call: str, name: str, values: Any, shape: tuple[int, int], *, flat_only: bool = False
) -> Any:
    """Return (nphi, ntheta, 3) float64 from component-first values, flat or (3, nphi, ntheta)."""
    values = real_array(call, name, values)
    flat, full = (3 * shape[0] * shape[1],), (3, *shape)
    allowed = [flat] if flat_only else [full, flat, *([full[::2]] if shape[0] == 1 else [])]
    if values.shape not in allowed:
        raise VcjaxError(
            f"{call} got {name} of shape {values.shape}; give "
            f"{' or '.join(map(str, allowed[:2]))}, component first."
        )
    if values.shape == flat and shape[0] > 1 and not isinstance(values, Tracer):
        _check_order(call, name, np.asarray(values), shape)
    return values.reshape(full).transpose(1, 2, 0).astype(float)


def _check_order(call: str, name: str, flat: np.ndarray, shape: tuple[int, int]) -> None:
    """Refuse flat values whose components run fastest.

    In them each third number is smooth and neighbours are not; in values component first the
    differences of neighbours are the smaller ones.
    """
    if flat.size < 60:  # a few points are in any order
        return
    near, third = (np.abs(flat[step:] - flat[:-step]).mean() for step in (1, 3))
    if third < 0.5 * near:
        raise VcjaxError(
            f"{call} got {name} point by point, x1, y1, z1, x2, ...; give it component first, "
            f"numpy.moveaxis({name}.reshape{(*shape, 3)}, -1, 0).ravel()."
        )
