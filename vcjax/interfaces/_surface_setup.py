"""Keep a surface given to a class of `vcjax.interfaces`, and prepare it for the given fields."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

import vcjax
from vcjax import Rule, VcjaxError
from vcjax._annotations import Float
from vcjax._checks import check_concrete, check_grid, check_integer
from vcjax._data_checks.watch import check_evaluated
from vcjax._errors import made_up_data
from vcjax._geometry.surface import outward_normals, surface_frame
from vcjax._programs.compiled import is_tracing
from vcjax._quadrature.choose import resolves
from vcjax._quadrature.plan import MAX_DIGITS


def concrete() -> AbstractContextManager:
    """Return a context in which results are concrete even inside a traced function.

    Traced results cannot be kept for later calls.
    """
    if not is_tracing():
        return nullcontext()
    if jax.__version_info__ < (0, 8):
        raise VcjaxError(
            f"prepare was called inside a traced function, where JAX {jax.__version__} cannot "
            "prepare a surface. Use JAX 0.8 or newer, or prepare the surface with vcjax.prepare "
            "outside the traced function."
        )
    return jax.ensure_compile_time_eval()


@dataclass(eq=False)
class SurfaceSetup:
    """A surface with its grids and digits, and the casings prepared for it so far.

    ``virtual_casing`` and ``virtual_casing_jax`` fix their quadrature before a field is given. This
    class prepares a casing for the first field, and keeps the casing. For a later field with the
    same options, another casing is prepared only if no kept casing resolves the field. Every casing
    resolves a zero field.

    `X` has the shape (nphi, ntheta, 3). If X is traced, every call of `casing` needs a rule.
    `src_shape` and `trg_shape` are the (nphi, ntheta) of the fields and of the results. `verified`
    contains the rules of the casings whose error was measured on a known field.
    """

    digits: int
    nfp: int
    half_period: bool
    X: Any
    src_shape: tuple[int, int]
    trg_shape: tuple[int, int]
    verified: set[Rule] = field(default_factory=set)
    _held: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.digits = check_integer("setup", "digits", self.digits, 1, MAX_DIGITS)
        if not isinstance(self.X, Tracer):
            self.X = np.asarray(self.X)
            # Raise an error for a bad surface here rather than at the first field.
            self.frame("setup", (1, 1))

    def casing(
        self,
        kind: str,
        B: Any,
        *,
        digits: int | None = None,
        rule: Rule | None = None,
        **options: Any,
    ) -> Any:
        """Return a casing that resolves B and fields as smooth as B; prepare the casing if needed.

        `kind` is "field", "gradient", "off" or "off_gradient"; "off" means points off the surface.
        A given rule is from `VirtualCasingJAX.plan_precision`. Without a rule, if B is traced or
        None, the casing resolves every field on the source grid. The options are keywords of
        `vcjax.prepare` or, for points off the surface, of `vcjax.choose_off_surface`.
        """
        if rule is not None and kind != "field":
            raise VcjaxError(
                "casing got precision=, which is for fields on the surface only; leave it out for "
                "gradients and for points off the surface."
            )
        if rule is not None:
            self._check_rule(rule)
        known = self.known(B)
        digits = self.digits if digits is None else digits
        key = kind, rule or digits, *sorted(options.items())
        # Casings for one field and casings for all fields have separate keys.
        for_all = known is None and rule is None
        for of_all in (True,) if for_all else (False, True):
            held = self._held.get((of_all, *key))
            if held is not None and (rule or self._resolves(held.rule, known, digits)):
                return self._watched(held, known)
        caps, options = (options, {}) if kind.startswith("off") else ({}, options)
        rule = rule or self.rule(kind, known, digits, **caps)
        held = self._held.get((for_all, *key))
        if held is not None and held.rule == rule:  # the caps do not allow a finer rule
            return self._watched(held, known)
        if isinstance(self.X, Tracer):
            return _PREPARE[kind](rule, self.X, **options)
        with concrete():
            made = _PREPARE[kind](rule, self.X, **options)
        self._held[for_all, *key] = made
        return self._watched(made, known)

    def casing_for_all(self, kind: str, fields: Sequence[Any], **wanted: Any) -> Any:
        """Return one casing that resolves every field of a batch; see `casing` for arguments."""
        *_, last = (self.casing(kind, B, **wanted) for B in fields)
        if wanted.get("rule") or all(self.casing(kind, B, **wanted) is last for B in fields):
            return last
        return self.casing(kind, None, **wanted)

    def rule(self, kind: str, B: np.ndarray | None, digits: int | None = None, **caps: Any) -> Rule:
        """Choose the rule for a field B, or for every field on the source grid if B is None.

        If B is zero, the rule is for a smooth field. `caps` are ``max_nphi`` and ``max_ntheta`` of
        `vcjax.choose_off_surface`.
        """
        if isinstance(self.X, Tracer):
            raise VcjaxError(
                "rule got a traced surface, but the sizes of arrays must be chosen for a surface "
                "with known values. If the surface does not change, call setup outside jit and "
                "grad. If the surface must be traced, call setup with a typical surface outside "
                "jit and grad, and keep the rule that plan_precision() returns there. In the "
                "traced function, call setup with the traced surface, and pass precision=rule to "
                "each call that evaluates a field on the surface."
            )
        if B is None or not B.any():
            with made_up_data():
                smooth = self.conductor_field(self.src_shape)
                made_up = self._rippled_field() if B is None else smooth
                return self.rule(kind, made_up, digits, **caps)
        options: dict[str, Any] = {"nfp": self.nfp, "half_period": self.half_period}
        options["gradient"] = kind.endswith("gradient")
        digits = self.digits if digits is None else digits
        if kind.startswith("off"):
            return vcjax.choose_off_surface(self.X, B, digits, **options, **caps)
        trg = dict(zip(("trg_nphi", "trg_ntheta"), self.trg_shape, strict=True))
        return vcjax.choose(self.X, B, digits, **options, **trg)

    def frame(self, call: str, shape: tuple[int, int]) -> tuple[np.ndarray, ...]:
        """Return points and both tangents of the surface on a grid, (nphi, ntheta, 3) each."""
        return surface_frame(call, self.X, self.nfp, self.half_period, *shape)

    def unit_normal(self, call: str) -> Float[np.ndarray, "trg_nphi trg_ntheta 3"]:
        """Return the outward unit normals of the surface at the targets."""
        # A few targets do not show which side is outside, so add columns between the targets.
        nphi, ntheta = self.trg_shape
        copies = ceil(self.X.shape[1] / ntheta)
        return outward_normals(*self.frame(call, (nphi, copies * ntheta)))[:, ::copies]

    def _check_rule(self, rule: Rule) -> None:
        """Raise `VcjaxError` if a rule and this set-up differ in the symmetry or in the targets."""
        for name in ("nfp", "half_period", "trg_shape"):
            given, wanted = getattr(rule, name), getattr(self, name)
            if given != wanted:
                raise VcjaxError(
                    f"casing got precision= with {name}={given}, but setup has {name}={wanted}; "
                    "give a rule from plan_precision() of an object with the same set-up."
                )

    def known(self, B: Any) -> np.ndarray | None:
        """Return the checked values of B, or None if B is None or traced."""
        if B is None or isinstance(B, Tracer):
            return None
        check_concrete("casing", "B", B, self.src_shape)
        return np.asarray(B)

    def _watched(self, casing: Any, B: np.ndarray | None) -> Any:
        """Check B, unless it is None, and return the casing.

        The fields of a batch are checked here, because the evaluation under vmap traces them.
        """
        if B is not None:
            check_evaluated("casing", casing, B)
        return casing

    def _resolves(self, rule: Rule, B: np.ndarray | None, digits: int) -> bool:
        return B is None or not B.any() or resolves(rule, self.X, B, digits)

    def conductor_field(self, shape: tuple[int, int]) -> Float[np.ndarray, "nphi ntheta 3"]:
        """Return the field of a conductor on the z axis at the points of a grid.

        The field is 1 at the distance 1 from the axis.
        """
        points = self.frame("setup", shape)[0]
        return np.cross([0, 0, 1], points) / (points[..., :2] ** 2).sum(axis=-1, keepdims=True)

    def _rippled_field(self) -> Float[np.ndarray, "src_nphi src_ntheta 3"]:
        """Return `conductor_field` with the highest modes of the source grid along both angles."""
        nphi, ntheta = self.src_shape
        rows, columns = np.arange(nphi)[:, None], np.arange(ntheta)
        first, mode = (0.5, (nphi - 1) / 2) if self.half_period else (0.0, nphi // 2)
        along_phi = np.cos(mode * 2 * np.pi * (rows + first) / nphi)
        ripples = along_phi + np.cos(ntheta // 2 * 2 * np.pi * columns / ntheta)
        # The ripples are as large as the field, so that the rule resolves them even for 1 digit.
        return self.conductor_field(self.src_shape) * (1 + ripples)[..., None]


_PREPARE = {
    "field": vcjax.prepare,
    "gradient": vcjax.prepare_gradient,
    "off": vcjax.prepare_off_surface,
    "off_gradient": vcjax.prepare_off_surface,
}


def required(setup: SurfaceSetup | None, call: str) -> SurfaceSetup:
    """Return the set-up; raise `VcjaxError` if it is None because `setup` was not called."""
    if setup is None:
        raise VcjaxError(f"{call} got no surface yet; call setup(...) first.")
    return setup


def check_shape(**counts: Any) -> tuple[int, int]:
    """Return the numbers of points along phi and theta; raise `VcjaxError` if any is invalid."""
    nphi, ntheta = (check_grid("setup", name, count) for name, count in counts.items())
    return nphi, ntheta


def check_targets(src: tuple[int, int], **counts: Any) -> tuple[int, int]:
    """Call `check_shape` for the targets; -1 means as many points as the source grid has."""
    given = {
        name: own if isinstance(count, int | np.integer) and count == -1 else count
        for (name, count), own in zip(counts.items(), src, strict=True)
    }
    return check_shape(**given)


def real_array(call: str, name: str, values: Any) -> jax.Array | np.ndarray:
    """Return the values as an array; raise `VcjaxError` unless they are real numbers."""
    if np.ma.is_masked(values):  # `np.asarray` would return the numbers under the mask
        raise VcjaxError(
            f"{call} got {name} with {np.ma.count_masked(values)} masked values; give an array "
            "with a value at every point."
        )
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
    call: str,
    name: str,
    values: Any,
    shape: tuple[int, int] | None = None,
    *,
    flat_only: bool = False,
) -> Any:
    """Return component-first values, flat or (3, nphi, ntheta), as float64 (nphi, ntheta, 3).

    `shape` is the (nphi, ntheta) that the values must have; None means a single row of any length.
    Values of a single row may also be (3, ntheta). If `flat_only`, the values must be flat.
    """
    values = real_array(call, name, values)
    wanted = None if shape else ["(3, n)", "(3 n,)"][flat_only:]
    shape = shape or (1, max(1, values.size // 3))
    flat, full = (3 * shape[0] * shape[1],), (3, *shape)
    allowed = [flat] if flat_only else [full, flat, *([full[::2]] if shape[0] == 1 else [])]
    if values.shape not in allowed:
        raise VcjaxError(
            f"{call} got {name} of shape {values.shape}; give "
            f"{' or '.join(wanted or map(str, allowed[:2]))}, component first."
        )
    if values.shape == flat and shape[0] > 1 and not isinstance(values, Tracer):
        _check_order(call, name, np.asarray(values, float), shape)
    return values.reshape(full).transpose(1, 2, 0).astype(float)


def _check_order(call: str, name: str, flat: np.ndarray, shape: tuple[int, int]) -> None:
    """Raise `VcjaxError` for flat values in the order x1, y1, z1, x2, ...

    In that order, numbers three places apart differ less than neighbours do. In component-first
    values, neighbours differ less, except in components with waves about three points long.
    """
    if flat.size < 60:  # too few points to see their order
        return
    near, third = (
        np.array([np.abs(part[step:] - part[:-step]).mean() for part in np.split(flat, 3)])
        for step in (1, 3)
    )
    if (third < 0.5 * near).all():
        raise VcjaxError(
            f"{call} got {name} point by point, as x1, y1, z1, x2, ...; give {name} component "
            f"first, as numpy.moveaxis({name}.reshape{(*shape, 3)}, -1, 0).ravel(). If {name} is "
            f"already component first, give it as an array of shape {(3, *shape)}."
        )
