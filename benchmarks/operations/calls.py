"""Operations that call vcjax as a user does, through every interface.

The worker counts the traces and compiles of these calls.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import vcjax
from benchmarks.cases import preparing
from benchmarks.cases.off_surface import error_at
from benchmarks.cases.quantities import GRADIENT
from benchmarks.operations import inputs
from benchmarks.operations.inputs import DIGITS, PROBLEM, violation
from benchmarks.operations.table import Calls, operation
from vcjax import problems, wout
from vcjax.interfaces import VirtualCasing, VirtualCasingJAX, build_offsurface_levels, simsopt
from vcjax.problems import Problem


def _twice(call: Callable[..., Any], B: np.ndarray, *others: Any) -> Any:
    """Make a call with 3 times the field B, then with B; return the second result.

    The second call should not compile, because only the values of the field differ.
    """
    call(B * 3.0, *others)
    return call(B, *others)


@operation("vcjax.choose", "vcjax.prepare", "vcjax.external_field", "vcjax.internal_field")
def called_on_the_surface() -> Calls:
    """Prepare two surfaces with the same rule, and evaluate fields on each."""
    problem = PROBLEM()

    def run():
        rule = preparing.choose(problem)
        for scale in (1.01, 1.0):
            casing = vcjax.prepare(rule, problem.X * scale)
            _twice(functools.partial(vcjax.internal_field, casing), problem.B)
            field = _twice(functools.partial(vcjax.external_field, casing), problem.B)
        return field

    return Calls(run, lambda field: {"error_relative": problem.external_error(field)})


@operation("vcjax.prepare_gradient", "vcjax.external_gradient", "vcjax.internal_gradient")
def called_for_gradients() -> Calls:
    """Prepare two surfaces for gradients, and evaluate external and internal gradients on each."""
    problem = PROBLEM()

    def run():
        rule = preparing.choose(problem, GRADIENT)
        for scale in (1.01, 1.0):
            casing = vcjax.prepare_gradient(rule, problem.X * scale)
            _twice(functools.partial(vcjax.internal_gradient, casing), problem.B)
            gradient = _twice(functools.partial(vcjax.external_gradient, casing), problem.B)
        return gradient

    return Calls(run, lambda found: {"error_relative": problem.external_gradient_error(found)})


@operation("vcjax.choose", "vcjax.tables", "vcjax.gradient_tables")
def called_for_ten_digits() -> Calls:
    """Compute a field and a gradient to ten digits.

    At ten digits, all other errors are small, so rounding errors on the host become visible.
    """
    sizes: dict[str, Any] = {"shape": (4, 48), "src_shape": (4, 72), "trg_shape": (2, 6)}
    problem = problems.axisymmetric(10, **sizes)

    def run():
        casing = vcjax.prepare(preparing.choose(problem), problem.X)
        rule = preparing.choose(problem, GRADIENT)
        gradient = vcjax.external_gradient(vcjax.prepare_gradient(rule, problem.X), problem.B)
        return vcjax.external_field(casing, problem.B), gradient

    def check(found):
        field, gradient = found
        return {
            "error_relative": problem.external_error(field),
            "gradient_error_relative": problem.external_gradient_error(gradient),
        }

    return Calls(run, check)


@operation(
    *("vcjax.choose_off_surface", "vcjax.prepare_off_surface", "vcjax.field_at"),
    *("vcjax.off_surface_field", "vcjax.off_surface_gradient", "vcjax.gradient_at"),
)
def called_off_the_surface() -> Calls:
    """Evaluate fields at 5, 8 and 1030 points off the surface, and gradients twice at 8 points.

    The three evaluations of fields use the same compiled program, as do the two of gradients.
    """
    problem = PROBLEM()
    symmetry = preparing.symmetry(problem)

    def run():
        for count, scale in ((5, 3.0), (8, 2.0), (1030, 1.0)):
            points, B = np.asarray(inputs.points(count)), problem.B * scale
            found = vcjax.off_surface_field(problem.X, B, points, DIGITS, **symmetry)
        gradient = functools.partial(vcjax.off_surface_gradient, problem.X, **symmetry)
        _twice(gradient, problem.B, points[:8], DIGITS)
        return points, found

    return Calls(run, lambda found: {"error_relative": error_at(problem, *found)})


@operation("vcjax.dense_operator", "vcjax.DenseOperator.apply")
def called_for_a_matrix() -> Calls:
    """Compute the matrices of the external and the internal field, for two surfaces.

    A matrix of the external field is applied to two fields, and to two batches of two fields.
    """
    problem = PROBLEM()
    casings = vcjax.prepare(inputs.rule(), problem.X * 1.01), inputs.casing()

    def run():
        for casing in casings:
            vcjax.dense_operator(casing, internal=True)
        operator = [vcjax.dense_operator(casing) for casing in casings][-1]
        _twice(operator.apply, np.stack([problem.B, problem.B]))
        return _twice(operator.apply, problem.B)

    return Calls(run, lambda field: {"error_relative": problem.external_error(field)})


@operation("vcjax.error_estimate", "vcjax.self_test", "vcjax.spectral_tail")
def called_for_trust() -> Calls:
    """Estimate the errors of a field and a gradient; compute the spectral tail of the field."""
    problem, casings = PROBLEM(), (inputs.casing(), inputs.gradient_casing())

    def run():
        estimates = [functools.partial(vcjax.error_estimate, casing) for casing in casings]
        found = [_twice(estimate, problem.B) for estimate in estimates]
        tail = vcjax.spectral_tail(problem.B, **preparing.symmetry(problem))
        return [*found, tail]

    def check(found):
        names = ("field", "gradient", "tail")
        return {f"{n}_estimate_relative": x for n, x in zip(names, found, strict=True)}

    return Calls(run, check)


@operation("vcjax.surface_points", "vcjax.surface_tangents", "vcjax.config")
def called_for_the_surface() -> Calls:
    """Compute points and tangents of a surface on the host; the calls should compile nothing."""
    problem = PROBLEM()
    symmetry = preparing.symmetry(problem)
    shape = dict(zip(("nphi", "ntheta"), problem.X.shape[:2], strict=True))

    def run():
        vcjax.config()
        vcjax.surface_tangents(problem.X, **symmetry, **shape)
        return vcjax.surface_points(problem.X, **symmetry, **shape)

    return Calls(run, lambda X: {"identity_error_relative": violation(X, problem.X)})


@operation("vcjax.interfaces.VirtualCasing")
def called_as_virtual_casing() -> Calls:
    """Call the methods of `VirtualCasing`, which has the interface of the C++ `virtual_casing`.

    Each method that evaluates a field or a gradient is called at least twice.
    """
    problem = PROBLEM()
    flat = functools.partial(_component_first, flat=True)

    def run():
        casing = VirtualCasing()
        casing.setup(*_setup(problem, flat))
        B, points = flat(problem.B), np.asarray(inputs.points(8)).T.ravel()
        for side in ("external", "internal"):
            _twice(getattr(casing, f"compute_{side}_B"), B)
            _twice(getattr(casing, f"compute_{side}_gradB"), B)
            _twice(getattr(casing, f"compute_{side}_B_offsurf"), B, points)
        casing.get_normal()
        return casing.compute_external_B(B)

    return Calls(run, lambda found: _flat_error(problem, found))


@operation("vcjax.interfaces.VirtualCasingJAX", "vcjax.interfaces.build_offsurface_levels")
def called_as_virtual_casing_jax() -> Calls:
    """Call methods of `VirtualCasingJAX`, which has the interface of `virtual_casing_jax`.

    Every called method that evaluates a field or a gradient is called at least twice. Methods for
    batches of gradients are left out. Names with ``_jit`` or ``_schedule`` are left out too,
    because they are aliases of the called methods.
    """
    problem = PROBLEM()

    def run():
        build_offsurface_levels(8, 8)
        casing = VirtualCasingJAX()
        casing.setup(*_setup(problem, _component_first))
        B, points = _component_first(problem.B), np.asarray(inputs.points(8)).T
        casing.plan_precision(B0=B)
        for side in ("external", "internal"):
            for quantity in ("B", "gradB"):
                name = f"compute_{side}_{quantity}"
                _twice(getattr(casing, name), B)
                _twice(functools.partial(getattr(casing, f"{name}_offsurf"), X_trg=points), B)
            _twice(getattr(casing, f"compute_{side}_B_batch"), np.stack([B, B]))
        casing.get_normal()
        return casing.compute_external_B(B)

    return Calls(run, lambda found: _flat_error(problem, found))


@operation(
    *("vcjax.interfaces.simsopt.VirtualCasing", "vcjax.interfaces.simsopt.best_nphi_over_ntheta"),
    *("vcjax.wout.from_wout", "vcjax.wout.read_wout", "vcjax.wout.tokamak_path"),
)
def called_for_an_equilibrium() -> Calls:
    """Compute the external field of an equilibrium from its ``wout`` file.

    `simsopt.VirtualCasing.from_vmec` computes the field. Then `wout.from_wout` prepares the same
    equilibrium, and `vcjax.error_estimate` estimates the error.
    """

    def run():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", vcjax.VcjaxWarning)  # the field is inaccurate
            path = wout.tokamak_path()
            simsopt.best_nphi_over_ntheta(wout.read_wout(path))
            simsopt.VirtualCasing.from_vmec(path, 4, 24, digits=DIGITS, filename=None)
            casing, B = wout.from_wout(path, DIGITS, trg_nphi=4, trg_ntheta=24)
            return vcjax.error_estimate(casing, B)

    return Calls(run, lambda estimate: {"estimate_relative": estimate})


def _component_first(values: np.ndarray, *, flat: bool = False) -> np.ndarray:
    moved = np.moveaxis(values, -1, 0)
    return moved.ravel() if flat else moved


def _setup(problem: Problem, turned: Callable[..., np.ndarray]) -> tuple:
    surface, src, trg = problem.X.shape[:2], problem.B.shape[:2], problem.B_ext.shape[:2]
    symmetry = DIGITS, problem.nfp, problem.half_period
    return (*symmetry, *surface, turned(problem.X), *src, *trg)


def _flat_error(problem: Problem, found: Any) -> dict[str, float]:
    shape = 3, problem.trg_nphi, problem.trg_ntheta
    field = np.moveaxis(np.asarray(found).reshape(shape), 0, -1)
    return {"error_relative": problem.external_error(field)}
