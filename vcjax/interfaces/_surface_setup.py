"""What the classes of this room have in common: one surface, made ready when first needed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Float

import vcjax
from vcjax import Rule, VcjaxError
from vcjax._checks import check_concrete, check_grid, check_integer
from vcjax._geometry.surface import outward_normals, surface_frame
from vcjax._quadrature.choose import MAX_DIGITS, resolves


@dataclass(frozen=True)
class Wanted:
    """What a call asks of the casing that it uses.

    Attributes
    ----------
    digits : accuracy, None for that of the set-up.
    rule : a quadrature already chosen, in place of one for the field.
    options : on the surface those of `vcjax.prepare`, off it those of `vcjax.choose_off_surface`.
    """

    digits: int | None = None
    rule: Rule | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class SurfaceSetup:
    """A surface, its grids and the digits wanted; casings are made once and kept.

    The packages that this room stands in for fix their quadrature before they see a field. Here
    the field has a say: a casing is made for the first one, and again only for a field that it
    does not resolve. A field that is zero has none: any casing serves.

    Attributes
    ----------
    digits, nfp, half_period : as for `vcjax.choose`.
    X : (nphi, ntheta, 3) points of the surface; may be traced, if rules are given.
    src_shape, trg_shape : (nphi, ntheta) of the fields and of the results.
    """

    digits: int
    nfp: int
    half_period: bool
    X: Any
    src_shape: tuple[int, int]
    trg_shape: tuple[int, int]
    _held: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.digits = check_integer("setup", "digits", self.digits, 1, MAX_DIGITS)
        if not isinstance(self.X, Tracer):
            self.X = np.asarray(self.X)
            # Refuses a surface that cannot be used now, not at the first field.
            self.unit_normal("setup")

    def casing(self, kind: str, B: Any, wanted: Wanted = Wanted()) -> Any:
        """The surface ready for fields as fine as B.

        Parameters
        ----------
        kind : "field", "gradient", "off" or "off_gradient".
        B : (src_nphi, src_ntheta, 3) field. Traced, or None: all that its grid can hold.
        wanted : of the casing, beside that.
        """
        if wanted.rule is not None and kind != "field":
            raise VcjaxError(
                "casing got a rule, precision=, which serves the fields on the surface only; "
                "leave it out for gradients and for points off the surface."
            )
        known = self.known(B)
        digits = self.digits if wanted.digits is None else wanted.digits
        key = kind, wanted.rule or digits, *sorted(wanted.options.items())
        # A casing made for one field is held apart from that for all.
        for_all = known is None and wanted.rule is None
        for of_all in (True,) if for_all else (False, True):
            held = self._held.get((of_all, *key))
            if held is not None and (wanted.rule or self._resolves(kind, held.rule, known, digits)):
                return held
        caps, options = {}, wanted.options
        if kind.startswith("off"):
            caps, options = options, caps
        rule = wanted.rule or self.rule(kind, known, digits, **caps)
        held = self._held.get((for_all, *key))
        if held is not None and held.rule == rule:  # as fine as its caps allow
            return held
        if isinstance(self.X, Tracer):
            return _PREPARE[kind](rule, self.X, **options)
        # At once, also where a field is traced: what belongs to a trace cannot be kept.
        with jax.ensure_compile_time_eval():
            made = _PREPARE[kind](rule, self.X, **options)
        self._held[for_all, *key] = made
        return made

    def casing_for_all(self, kind: str, fields: Sequence[Any], wanted: Wanted) -> Any:
        """The surface ready for each of several fields; arguments as for `casing`."""
        if wanted.rule is not None:
            for B in fields:
                self.known(B)
            return self.casing(kind, fields[0], wanted)
        *_, last = (self.casing(kind, B, wanted) for B in fields)
        if all(self.casing(kind, B, wanted) is last for B in fields):
            return last
        return self.casing(kind, None, wanted)

    def rule(self, kind: str, B: np.ndarray | None, digits: int | None = None, **caps: Any) -> Rule:
        """The quadrature for a field, without one for all that its grid can hold."""
        if isinstance(self.X, Tracer):
            raise VcjaxError(
                "rule got a traced surface, which cannot decide sizes of arrays. Set the surface "
                "up outside jit and grad, call plan_precision() there, and give what it returns "
                "as precision=."
            )
        if B is None or not B.any():
            B = self._toroidal_field(ripples=B is None)
        options: dict[str, Any] = {"nfp": self.nfp, "half_period": self.half_period}
        options["gradient"] = kind.endswith("gradient")
        digits = self.digits if digits is None else digits
        if kind.startswith("off"):
            return vcjax.choose_off_surface(self.X, B, digits, **options, **caps)
        trg = dict(zip(("trg_nphi", "trg_ntheta"), self.trg_shape, strict=True))
        return vcjax.choose(self.X, B, digits, **options, **trg)

    def unit_normal(self, call: str) -> Float[np.ndarray, "trg_nphi trg_ntheta 3"]:
        """Outward unit normals on the target grid."""
        symmetry = self.nfp, self.half_period
        return outward_normals(*surface_frame(call, self.X, *symmetry, *self.trg_shape))

    def known(self, B: Any) -> np.ndarray | None:
        """A field whose numbers can be seen, checked."""
        if B is None or isinstance(B, Tracer):
            return None
        check_concrete("casing", "B", B, self.src_shape)
        return np.asarray(B)

    def _resolves(self, kind: str, rule: Rule, B: np.ndarray | None, digits: int) -> bool:
        if B is None or not B.any():
            return True
        return resolves(rule, B, digits, gradient=kind.endswith("gradient"))

    def _toroidal_field(self, *, ripples: bool) -> Float[np.ndarray, "src_nphi src_ntheta 3"]:
        """That of a conductor on the axis, with ripples as fine as the source grid holds."""
        nphi, ntheta = self.src_shape
        symmetry = self.nfp, self.half_period
        points, _, _ = surface_frame("setup", self.X, *symmetry, nphi, ntheta)
        rows, columns = np.arange(nphi)[:, None], np.arange(ntheta)
        if self.half_period:
            along_phi = np.cos((nphi - 1) * np.pi * (rows + 0.5) / nphi)
        else:
            along_phi = np.cos(nphi // 2 * 2 * np.pi * rows / nphi)
        fine = along_phi + np.cos(ntheta // 2 * 2 * np.pi * columns / ntheta)
        # As large as the field, that no number of digits overlooks them.
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
    """The set-up, or what to do first."""
    if setup is None:
        raise VcjaxError(f"{call} got no surface yet; call setup(...) first.")
    return setup


def check_shape(call: str, **counts: Any) -> tuple[int, int]:
    """Points along phi and theta, given by name."""
    nphi, ntheta = (check_grid(call, name, count) for name, count in counts.items())
    return nphi, ntheta


def check_targets(call: str, src: tuple[int, int], **counts: Any) -> tuple[int, int]:
    """As `check_shape`, -1 standing for the sources' number."""
    told = {
        name: own if isinstance(count, int | np.integer) and count == -1 else count
        for (name, count), own in zip(counts.items(), src, strict=True)
    }
    return check_shape(call, **told)


def real_array(call: str, name: str, values: Any) -> jax.Array | np.ndarray:
    """What a caller gave for numbers, as an array of them."""
    try:
        array = values if isinstance(values, jax.Array) else np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise VcjaxError(f"{call} got {name} that is no array ({error}).") from error
    if array.dtype.kind not in "biuf":
        raise VcjaxError(
            f"{call} got {name} of type {type(values).__name__}, dtype {array.dtype}; give real "
            "numbers, component first."
        )
    return array
