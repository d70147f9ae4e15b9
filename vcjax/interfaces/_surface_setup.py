"""What the classes of this room have in common: one surface, made ready when first needed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax.core import Tracer
from jaxtyping import Float

import vcjax
from vcjax import Rule, VcjaxError
from vcjax._checks import check_grid, check_integer
from vcjax._choose import MAX_DIGITS, resolves


@dataclass(eq=False)
class SurfaceSetup:
    """A surface, its grids and the digits wanted; casings are made once and kept.

    The packages that this room stands in for fix their quadrature before they see a field. Here
    the field has a say: a casing is made for the first one, and anew only for a field that it
    does not resolve.

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
            self.unit_normal()

    def casing(
        self,
        kind: str,
        B: Any,
        digits: int | None = None,
        rule: Rule | None = None,
        **options: Any,
    ) -> Any:
        """The surface ready for fields as fine as B.

        Parameters
        ----------
        kind : "field", "gradient", "off" or "off_gradient".
        B : (src_nphi, src_ntheta, 3) field. Traced, or None: all that its grid can hold.
        digits, rule : instead of those of the set-up, and of those chosen for B.
        options : for `vcjax.prepare` or `vcjax.prepare_gradient`.
        """
        if rule is not None and kind != "field":
            raise VcjaxError(
                "A rule given as precision= serves the fields on the surface only; leave it out "
                "for gradients and for points off the surface."
            )
        digits = self.digits if digits is None else digits
        known = None if B is None or isinstance(B, Tracer) else np.asarray(B)
        key = kind, rule or (digits, known is None), *sorted(options.items())
        held = self._held.get(key)
        if held is not None and (rule or known is None or self._resolves(held, known, digits)):
            return held
        made = _PREPARE[kind](rule or self.rule(kind, known, digits), self.X, **options)
        if not isinstance(self.X, Tracer):
            self._held[key] = made
        return made

    def casing_for_all(self, kind: str, fields: Sequence[Any], *given: Any, **options: Any) -> Any:
        """The surface ready for each of several fields; arguments as for `casing`."""
        first = self.casing(kind, fields[0], *given, **options)
        same = self.casing(kind, fields[-1], *given, **options)
        if first is same and all(self.casing(kind, B, *given, **options) is same for B in fields):
            return same
        return self.casing(kind, None, *given, **options)

    def rule(self, kind: str, B: np.ndarray | None, digits: int | None = None) -> Rule:
        """The quadrature for a field, without one for all that its grid can hold."""
        if isinstance(self.X, Tracer):
            raise VcjaxError(
                "A traced surface cannot decide sizes of arrays. Set the surface up outside jit "
                "and grad, call plan_precision() there, and give what it returns as precision=."
            )
        B = self.finest_field() if B is None else B
        digits = self.digits if digits is None else digits
        options: dict[str, Any] = {"nfp": self.nfp, "half_period": self.half_period}
        options["gradient"] = kind.endswith("gradient")
        if kind.startswith("off"):
            return vcjax.choose_off_surface(self.X, B, digits, **options)
        trg = dict(zip(("trg_nphi", "trg_ntheta"), self.trg_shape, strict=True))
        return vcjax.choose(self.X, B, digits, **options, **trg)

    def _resolves(self, held: Any, B: np.ndarray, digits: int) -> bool:
        gradient = isinstance(held, vcjax.GradientCasing)
        return resolves(held.rule, B, digits, gradient=gradient)

    def finest_field(self) -> Float[np.ndarray, "src_nphi src_ntheta 3"]:
        """A toroidal field with ripples as fine as the source grid holds."""
        nphi, ntheta = self.src_shape
        points = vcjax.surface_points(
            self.X, nfp=self.nfp, half_period=self.half_period, nphi=nphi, ntheta=ntheta
        )
        x, y = points[..., 0], points[..., 1]
        phi, theta = np.arange(nphi)[:, None], np.arange(ntheta)
        rows = (phi + 0.5 if self.half_period else phi) * (np.pi if self.half_period else 2 * np.pi)
        most = nphi - 1 if self.half_period else (nphi - 1) // 2
        fine = np.cos(most * rows / nphi) + np.cos((ntheta - 1) // 2 * 2 * np.pi * theta / ntheta)
        strength = (1 + 0.01 * fine) / np.hypot(x, y) ** 2
        return np.stack([-y * strength, x * strength, 0 * x], axis=-1)

    def unit_normal(self) -> Float[np.ndarray, "trg_nphi trg_ntheta 3"]:
        """Outward unit normals on the target grid."""
        symmetry: dict[str, Any] = {"nfp": self.nfp, "half_period": self.half_period}
        grid = dict(zip(("nphi", "ntheta"), self.trg_shape, strict=True))
        normal = np.cross(*vcjax.surface_tangents(self.X, **symmetry, **grid))
        # Outward: the flux of the position vector is three times the enclosed volume.
        volume = (vcjax.surface_points(self.X, **symmetry, **grid) * normal).sum()
        return np.sign(volume) * normal / np.linalg.norm(normal, axis=-1, keepdims=True)


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
