"""Problems: positions of currents, fields accurate to rounding, symmetry, sizes, errors."""

import inspect
import tracemalloc
from dataclasses import FrozenInstanceError
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ellipe, ellipk

import vcjax
from tests.vcjax.common import surface, symmetry, turn
from vcjax import problems
from vcjax.problems import _filaments

PROBLEMS = {
    "w7x half period": lambda: problems.w7x(3),
    "w7x full period": lambda: problems.w7x(3, half_period=False),
    "ellipse half period": lambda: problems.rotating_ellipse(3),
    "ellipse full period": lambda: problems.rotating_ellipse(3, half_period=False),
    "ellipse nfp 2": lambda: problems.rotating_ellipse(3, nfp=2),
    "shaped torus": lambda: problems.axisymmetric(3),
    "circular torus": lambda: problems.axisymmetric(3, cross_section="circular", minor_radius=1.0),
    "coarse torus": lambda: problems.axisymmetric(
        5, shape=(6, 5), src_shape=(6, 5), trg_shape=(4, 4)
    ),
}


@pytest.fixture(params=PROBLEMS.values(), ids=list(PROBLEMS))
def problem(request):
    return request.param()


def loop_field(points, radius, current):
    """Return the field of a circular loop in z = 0, by elliptic integrals.

    Source: J. D. Jackson, Classical Electrodynamics, 5.37.
    """
    x, y, z = points.T
    rho = np.hypot(x, y)
    near, far = (radius - rho) ** 2 + z**2, (radius + rho) ** 2 + z**2
    m = 4 * radius * rho / far
    k, e = ellipk(m), ellipe(m)
    factor = 2 * current / np.sqrt(far)
    b_rho = factor * z / rho * (-k + (radius**2 + rho**2 + z**2) / near * e)
    b_z = factor * (k + (radius**2 - rho**2 - z**2) / near * e)
    return np.stack([b_rho * x / rho, b_rho * y / rho, b_z], axis=1)


def test_a_circular_loop_has_the_field_of_the_elliptic_integrals():
    points = np.random.default_rng(1).normal(size=(200, 3))
    far = np.hypot(np.hypot(points[:, 0], points[:, 1]) - 0.7, points[:, 2]) > 0.05
    # At the distance 1e-4 from the loop, the distance has a relative rounding error of 1e-12.
    near = np.array([[0.7 + 1e-4, 0.0, 0.0], [0.0, 0.7, 1e-4]])
    for at, error in ((points[far], 2e-14), (near, 1e-11)):
        field = problems.magnetic_field([problems.ToroidalLoop(0.3, r=(0.7,))], at)
        known = loop_field(at, 0.7, 0.3)
        assert np.abs(field - known).max() < error * np.abs(known).max()


def test_a_ring_of_coils_has_the_field_of_a_central_conductor():
    count = 200
    angles = 2 * np.pi * np.arange(count) / count
    coils = [problems.PoloidalCoil(2.0 / count, float(a), (2.0, 0.0), 1.0) for a in angles]
    points = np.array([[2.0, 0.0, 0.1], [0.3, 1.9, -0.2]])
    known = problems.magnetic_field([problems.CentralConductor(2.0)], points)
    found = problems.magnetic_field(coils, points)
    np.testing.assert_allclose(found, known, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "filament",
    [
        problems.ToroidalLoop(1.0, r=(0.72,), z=(0.0, 0.1), nfp=5),
        problems.ToroidalLoop(1.0, r=(5.56, 0.37, 0.02), z=(0.0, 0.1), nfp=5),
        problems.PoloidalCoil(1.0, phi=0.3, centre=(5.56, 0.0), radius=1.4),
    ],
)
def test_twice_as_many_points_on_a_filament_change_the_field_by_rounding_only(
    filament, monkeypatch
):
    """Check near the filament and far away: the number of points depends on the distance."""
    curve, _ = filament.curve(np.linspace(0, 2, 7))
    points = [curve + distance * np.array([0.6, 0.0, 0.8]) for distance in (0.03, 0.3, 3.0)]
    usual = [problems.magnetic_field([filament], values) for values in points]
    monkeypatch.setattr(_filaments, "_NATURAL_DIGITS", 2 * _filaments._NATURAL_DIGITS)
    for once, values in zip(usual, points, strict=True):
        twice = problems.magnetic_field([filament], values)
        assert np.abs(once - twice).max() < 1e-14 * np.abs(twice).max()


def circulations(problem, nphi, ntheta, along):
    """Integrate B_ext and B_int around the torus along phi (axis 0) or theta (axis 1)."""
    points = surface(problem, nphi, ntheta)
    tangents = vcjax.surface_tangents(problem.X, **symmetry(problem), nphi=nphi, ntheta=ntheta)
    tangent = tangents[along]
    fields = (problems.magnetic_field(s, points) for s in (problem.outside, problem.inside))
    return [2 * np.pi * (field * tangent).sum(axis=2).mean(axis=along) for field in fields]


def test_the_poloidal_circulation_comes_from_the_filaments_inside(problem):
    """Use Ampere's law."""
    external, internal = circulations(problem, 7, 240, along=1)
    current = 4 * np.pi * sum(source.current for source in problem.inside)
    np.testing.assert_allclose(external, 0.0, atol=1e-10 * current)
    np.testing.assert_allclose(np.abs(internal), current, rtol=1e-10)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if "full" in name or "torus" in name])
def test_the_toroidal_circulation_comes_from_the_coils_and_the_conductor_outside(name):
    problem = PROBLEMS[name]()
    external, internal = circulations(problem, 120, 7, along=0)
    threading = [s for s in problem.outside if not isinstance(s, problems.ToroidalLoop)]
    current = 4 * np.pi * sum(source.current for source in threading)
    np.testing.assert_allclose(internal, 0.0, atol=1e-10 * current)
    np.testing.assert_allclose(external, current, rtol=1e-10)


def test_both_parts_have_the_periods_and_the_stellarator_symmetry_of_the_grid(problem):
    points = problem.X.reshape(-1, 3)
    rotation = turn(2 * np.pi / problem.nfp)
    for sources in (problem.outside, problem.inside):
        field = problems.magnetic_field(sources, points)
        scale = np.abs(field).max()
        turned = problems.magnetic_field(sources, points @ rotation.T)
        mirrored = problems.magnetic_field(sources, points * [1.0, -1.0, -1.0])
        assert np.abs(turned - field @ rotation.T).max() < 3e-14 * scale
        assert np.abs(mirrored - field * [-1.0, 1.0, 1.0]).max() < 3e-14 * scale


def test_neither_part_is_more_than_five_times_as_large_as_the_other(problem):
    external, internal = np.abs(problem.B_ext).max(), np.abs(problem.B_int).max()
    assert 0.2 < external / internal < 5.0


def test_sources_and_targets_lie_on_the_smooth_surface_through_the_points(problem):
    points = surface(problem, *problem.B.shape[:2])
    total = problems.magnetic_field((*problem.outside, *problem.inside), points)
    np.testing.assert_array_equal(problem.B, total)
    points = surface(problem, problem.trg_nphi, problem.trg_ntheta)
    np.testing.assert_array_equal(problem.B_ext, problems.magnetic_field(problem.outside, points))
    np.testing.assert_array_equal(problem.B_int, problems.magnetic_field(problem.inside, points))


def test_sizes_equal_the_sizes_in_the_tests_of_the_cpp_package():
    w7x, ellipse = problems.w7x(4), problems.rotating_ellipse(4)
    assert (w7x.nfp, w7x.X.shape[:2], w7x.B.shape[:2]) == (5, (10, 20), (24, 128))
    assert (w7x.trg_nphi, w7x.trg_ntheta) == (20, 40)
    assert (ellipse.nfp, ellipse.X.shape[:2], ellipse.B.shape[:2]) == (4, (10, 20), (12, 60))
    assert (ellipse.trg_nphi, ellipse.trg_ntheta) == (19, 29)
    full = problems.w7x(4, half_period=False)
    assert (full.X.shape[:2], full.B.shape[:2], full.trg_nphi) == ((20, 20), (48, 128), 40)


@pytest.mark.parametrize("field", [problems.magnetic_field, problems.magnetic_field_gradient])
def test_currents_from_an_iterator_give_the_same_field_as_a_tuple(field):
    coils, points = problems.tokamak_coils(), np.array([[6.0, 0.0, 0.0]])
    np.testing.assert_array_equal(field(iter(coils), points), field(coils, points))


def test_shapes_may_be_lists(no_shape_checks):
    shapes: Any = dict(shape=[8, 12], src_shape=[8, 16], trg_shape=np.array([4, 8]))
    made = problems.axisymmetric(2, **shapes)
    assert [v.shape[:2] for v in (made.X, made.B, made.B_ext)] == [(8, 12), (8, 16), (4, 8)]


def test_a_problem_cannot_be_changed_by_accident():
    problem = problems.axisymmetric(2)
    with pytest.raises(ValueError, match="read-only"):
        problem.B[0, 0, 0] = 0.0
    with pytest.raises(FrozenInstanceError):
        problem.digits = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_the_surface_of_a_known_problem_may_be_a_jax_array(no_shape_checks):
    X: Any = jnp.asarray(problems.axisymmetric(2).X)
    sizes: dict[str, Any] = dict(digits=2, src_shape=(4, 16), trg_shape=(2, 8))
    axis = [problems.CentralConductor(1.0)]
    made = problems.known_problem(
        "axis", X, nfp=1, half_period=False, outside=axis, inside=[], **sizes
    )
    np.testing.assert_array_equal(made.X, X)
    assert not made.X.flags.writeable


def test_errors_are_relative_to_the_largest_component_of_the_field():
    problem = problems.axisymmetric(2)
    wrong = problem.B_ext.copy()
    wrong[1, 2, 0] += 1e-3 * np.abs(problem.B).max()
    assert problem.external_error(wrong) == pytest.approx(1e-3)
    assert problem.internal_error(problem.B_int) == 0.0
    with pytest.raises(vcjax.VcjaxError, match=r"external_error.*\(2, 3\).*shape \(8, 20, 3\)"):
        problem.external_error(np.zeros((2, 3)))


FIELDS = [problems.magnetic_field, problems.magnetic_field_gradient]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("angle", [0.0, 1.0, 2.345])
@pytest.mark.parametrize("height", [0.0, 1e-9])
def test_points_on_a_filament_or_next_to_it_are_refused(field, angle, height):
    loop = problems.ToroidalLoop(1.0, r=(2.0,))
    points = np.array([[5.0, 0.0, 0.0], [2 * np.cos(angle), 2 * np.sin(angle), height]])
    said = f"^problems.{field.__name__} got a point on a current.*ToroidalLoop.*Leave such"
    with pytest.raises(vcjax.VcjaxError, match=said):
        field([loop], points)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("distance", [0.0, 1e-200])
def test_points_on_the_axis_of_a_central_conductor_are_refused(field, distance):
    points = np.array([[1.0, 0.0, 0.0], [distance, 0.0, 2.0]])
    said = f"^problems.{field.__name__} got points on the z axis"
    with pytest.raises(vcjax.VcjaxError, match=said):
        field([problems.CentralConductor(1.0)], points)
    field([problems.ToroidalLoop(1.0, r=(2.0,))], points)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    "points, said",
    [
        ([[1.0, 0.0, 0.0]], "of type list; give an array"),
        (np.zeros(()), r"of shape \(\)"),
        (np.zeros((3, 2)), r"of shape \(3, 2\)"),
        (np.zeros((0, 3)), r"of shape \(0, 3\)"),
        (np.zeros((2, 3), complex), "of dtype complex128"),
        (np.array([[np.nan, 0.0, 0.0]]), r"with NaN or infinite coordinates \(1 of 1\)"),
    ],
)
def test_bad_points_are_refused(no_shape_checks, field, points, said):
    with pytest.raises(vcjax.VcjaxError, match=f"^problems.{field.__name__} got points .*{said}"):
        field([problems.ToroidalLoop(1.0, r=(2.0,))], points)


@pytest.mark.parametrize(
    "make, options, said",
    [
        *[
            (make, {"digits": digits}, f"{make.__name__} got digits=.*from 1 to 14")
            for make in (problems.w7x, problems.rotating_ellipse, problems.axisymmetric)
            for digits in (0, 15, -3, [3])
        ],
        (problems.axisymmetric, {"cross_section": "square"}, "'square'.*'circular'"),
        (problems.axisymmetric, {"cross_section": ["shaped"]}, "'shaped'.*'circular'"),
        (problems.axisymmetric, {"minor_radius": [0.5]}, "minor_radius=.*up to 1.2"),
        (problems.axisymmetric, {"minor_radius": 2.5}, "minor_radius=2.5.*up to 1.2"),
        (problems.axisymmetric, {"minor_radius": float("nan")}, "minor_radius=nan.*up to 1.2"),
        *[
            (problems.axisymmetric, {name: shape}, f"axisymmetric got {name}={said}")
            for name in ("shape", "src_shape", "trg_shape")
            for shape, said in (
                ((0, 40), "0; give an integer"),
                ([6, 40, 3], r".*; give \(nphi, ntheta\)"),
                ((), r".*; give \(nphi, ntheta\)"),
            )
        ],
        (problems.axisymmetric, {"shape": (8, 3)}, "^problems.known_problem got X of shape"),
    ],
)
def test_impossible_problems_are_refused(no_shape_checks, make, options, said):
    with pytest.raises(vcjax.VcjaxError, match=said):
        make(**({"digits": 3} | options))


@pytest.mark.parametrize(
    "change", [dict(nphi=0), dict(nphi=-3), dict(ntheta=2.5), dict(half_period="no")]
)
def test_impossible_grids_of_a_surface_are_refused(no_shape_checks, change):
    grid: dict[str, Any] = dict(nphi=4, ntheta=8, half_period=True) | change
    with pytest.raises(vcjax.VcjaxError, match=f"^Surface.points got {next(iter(change))}="):
        problems.w7x_boundary().points(**grid)


def test_making_a_large_problem_takes_less_than_200_megabytes():
    tracemalloc.start()
    try:
        inspect.unwrap(problems.w7x)(7)  # not from the cache
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
