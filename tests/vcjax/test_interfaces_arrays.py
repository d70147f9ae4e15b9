"""The stand-ins for the C++ package and for the JAX peer: the same arrays in, the same out."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import config as jaxtyping_config

from vcjax import VcjaxError, problems, surface_points
from vcjax.interfaces import VirtualCasing, VirtualCasingJAX, build_offsurface_levels
from vcjax.interfaces._jax_names import _read

DIGITS = 3


def flat(values):
    return np.moveaxis(values, -1, 0).ravel()


@pytest.fixture(scope="module")
def problem():
    """Sources fine enough for gradients as well."""
    return problems.rotating_ellipse(DIGITS + 2)


def surface(problem, nphi, ntheta):
    kind: dict[str, Any] = dict(nfp=problem.nfp, half_period=problem.half_period)
    return surface_points(problem.X, **kind, nphi=nphi, ntheta=ntheta)


def set_up(casing, problem, *targets):
    casing.setup(
        *(DIGITS, problem.nfp, problem.half_period),
        *(*problem.X.shape[:2], flat(problem.X), *problem.B.shape[:2], *targets),
    )
    return casing


@pytest.fixture(scope="module")
def casing(problem):
    return set_up(VirtualCasing(), problem, 4, 6)


@pytest.fixture(scope="module")
def reference(problem):
    package = pytest.importorskip("virtual_casing", reason="the C++ package has no wheel here")
    return set_up(package.VirtualCasing(), problem, 4, 6)


@pytest.fixture(scope="module")
def points(problem):
    """Inside (first half) and outside the surface, 0.02 to 0.3 from it."""
    normal = set_up(VirtualCasing(), problem, 2, 3).get_normal().reshape(3, 6).T
    near = surface(problem, 2, 3).reshape(6, 3)
    return np.concatenate([near - 0.02 * normal, near + 0.02 * normal, near + 0.3 * normal])


@pytest.fixture(scope="module")
def off_surface(problem, casing, points):
    """Both parts at all points, (18, 3)."""
    arguments = flat(problem.B), flat(points)
    return {
        part: getattr(casing, f"compute_{part}_B_offsurf")(*arguments).reshape(3, -1).T
        for part in ("external", "internal")
    }


@pytest.mark.parametrize("part", ["external", "internal"])
def test_fields_are_those_of_the_reference(problem, casing, reference, part):
    ours = getattr(casing, f"compute_{part}_B")(flat(problem.B))
    theirs = np.array(getattr(reference, f"compute_{part}_B")(flat(problem.B)))
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= 2 * 10.0**-DIGITS * np.abs(problem.B).max()


def test_gradients_are_those_of_the_reference(problem, casing, reference):
    ours = casing.compute_external_gradB(flat(problem.B))
    known = problems.magnetic_field_gradient(problem.outside, surface(problem, 4, 6).reshape(-1, 3))
    limit = 1e-2 * np.abs(known).max()
    assert np.abs(ours.reshape(3, 3, 24) - known.transpose(2, 1, 0)).max() <= limit
    # With as few digits as ours the reference, which extrapolates, is off by 13 %.
    fine = type(reference)()
    fine.setup(
        *(DIGITS + 2, problem.nfp, True, *problem.X.shape[:2], flat(problem.X)),
        *(*problem.B.shape[:2], 4, 6),
    )
    assert np.abs(ours - fine.compute_external_gradB(flat(problem.B))).max() <= limit


def test_the_references_gradient_has_the_component_before_the_derivative(reference, problem):
    """Of data that are no field the gradient is not symmetric, and tells the order."""
    nphi, ntheta = problem.B.shape[:2]
    theta = 2 * np.pi * np.arange(ntheta) / ntheta
    data = np.zeros_like(problem.B)
    data[..., 2] = np.cos(theta)
    k_first = np.array(reference.compute_external_gradB(flat(data))).reshape(3, 3, 24)
    fine = set_up(type(reference)(), problem, 4, 48)
    along = np.array(fine.compute_external_B(flat(data))).reshape(3, 4, 48)
    slope = (np.roll(along, -1, axis=2) - np.roll(along, 1, axis=2))[:, :, ::8].reshape(3, 24)
    X = surface(problem, 4, 48)
    step = (np.roll(X, -1, axis=1) - np.roll(X, 1, axis=1))[:, ::8].reshape(24, 3).T
    error = np.abs(np.einsum("kip,ip->kp", k_first, step) - slope).max()
    turned = np.abs(np.einsum("ikp,ip->kp", k_first, step) - slope).max()
    assert error < 0.05 * np.abs(slope).max() < turned


def test_fields_off_the_surface_are_those_of_the_reference(problem, off_surface, reference, points):
    limit = 2 * 10.0**-DIGITS * np.abs(problem.B).max()
    theirs = reference.compute_external_B_offsurf(flat(problem.B), flat(points[:6]))
    assert np.abs(off_surface["external"][:6].T.ravel() - theirs).max() <= limit
    theirs = reference.compute_internal_B_offsurf(flat(problem.B), flat(points[6:]))
    assert np.abs(off_surface["internal"][6:].T.ravel() - theirs).max() <= limit


def test_what_the_data_do_not_tell_off_the_surface_is_nan(problem, off_surface, points):
    known = dict(
        external=problems.magnetic_field(problem.outside, points[:6]),
        internal=problems.magnetic_field(problem.inside, points[6:]),
    )
    for part, told, untold in (
        ("external", slice(6), slice(6, 18)),
        ("internal", slice(6, 18), slice(6)),
    ):
        assert np.isnan(off_surface[part][untold]).all()
        error = np.abs(off_surface[part][told] - known[part]).max()
        assert error <= 10.0**-DIGITS * np.abs(problem.B).max()


def test_the_parts_sum_to_the_field_and_normals_have_length_one(problem, casing):
    total = casing.compute_external_B(flat(problem.B)) + casing.compute_internal_B(flat(problem.B))
    known = problems.magnetic_field(
        (*problem.outside, *problem.inside), surface(problem, 4, 6).reshape(-1, 3)
    )
    assert np.abs(total - known.T.ravel()).max() <= 1e-2 * np.abs(known).max()
    normal = casing.get_normal().reshape(3, -1)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=0), 1.0, rtol=1e-14)
    first = normal[:, 0]  # theta = 0, near phi = 0: away from the axis
    assert first[0] > 0.9


def test_lists_do_as_well_and_the_casing_is_kept(problem, casing):
    from_array = casing.compute_external_B(flat(problem.B))
    held = dict(casing._setup._held)
    from_list = casing.compute_external_B((0.5 * flat(problem.B)).tolist())
    np.testing.assert_allclose(2 * from_list, from_array, rtol=0, atol=1e-14)
    assert casing._setup._held == held
    assert not casing.compute_external_B(0 * flat(problem.B)).any()


def test_targets_are_the_sources_unless_told(problem):
    casing = set_up(VirtualCasing(), problem)
    assert casing.get_normal().shape == (problem.B.size,)


@pytest.fixture
def unchecked():
    """Without the tests' type checker, which would refuse a str before vcjax does."""
    jaxtyping_config.update("jaxtyping_disable", True)
    yield
    jaxtyping_config.update("jaxtyping_disable", False)


@pytest.mark.parametrize(
    "change, said",
    [
        (dict(digits=0), "setup got digits=0"),
        (dict(Nt=11), r"setup got X of shape \(600,\); give \(660,\)"),
        (dict(src_Nt=0), "setup got src_Nt=0"),
        (dict(trg_Np=-2), "setup got trg_Np=-2"),
        (dict(X="surface"), "setup got X of type str"),
        (dict(NFP=3), "open surface"),
    ],
)
def test_set_ups_that_cannot_be_are_refused(unchecked, problem, change, said):
    arguments: dict[str, Any] = dict(
        digits=3, NFP=4, half_period=True, Nt=10, Np=20, X=flat(problem.X)
    )
    arguments |= dict(src_Nt=9, src_Np=45) | change
    with pytest.raises(VcjaxError, match=said):
        VirtualCasing().setup(**arguments)


def test_fields_of_other_sizes_and_calls_before_set_up_are_refused(problem, casing):
    with pytest.raises(VcjaxError, match=r"compute_external_B got B_total of shape \(3374,\)"):
        casing.compute_external_B(flat(problem.B)[1:])
    with pytest.raises(VcjaxError, match="compute_internal_B_offsurf got Xt of shape"):
        casing.compute_internal_B_offsurf(flat(problem.B), [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(VcjaxError, match="compute_external_gradB got no surface yet"):
        VirtualCasing().compute_external_gradB(flat(problem.B))


# The names of the JAX peer.


@pytest.fixture(scope="module")
def named(problem):
    return set_up(VirtualCasingJAX(), problem, 4, 6)


@pytest.fixture(scope="module")
def B(problem):
    return jnp.moveaxis(jnp.asarray(problem.B), -1, 0)


def test_the_named_forms_give_the_fields_of_the_flat_ones(problem, casing, named, B):
    external = casing.compute_external_B(flat(problem.B)).reshape(3, 4, 6)
    for call in (named.compute_external_B, named.compute_external_B_jit):
        np.testing.assert_array_equal(call(B), external)
    np.testing.assert_array_equal(named.compute_external_B(flat(problem.B)), external)
    internal = casing.compute_internal_B(flat(problem.B)).reshape(3, 4, 6)
    np.testing.assert_array_equal(named.compute_internal_B_jit(B), internal)
    np.testing.assert_array_equal(named.get_normal().ravel(), casing.get_normal())
    batch = named.compute_external_B_batch(jnp.stack([B, -2 * B]))
    # The sums of a batch are taken in another order.
    rounding = 1e-12 * np.abs(problem.B).max()
    np.testing.assert_allclose(batch, [external, -2 * external], rtol=0, atol=rounding)


def test_the_named_gradients_are_those_of_the_flat_ones(problem, casing, named, B):
    flat_one = casing.compute_external_gradB(flat(problem.B)).reshape(3, 3, 4, 6)
    np.testing.assert_array_equal(named.compute_external_gradB_jit(B, hedgehog_order=8), flat_one)


def test_the_named_forms_off_the_surface_are_those_of_the_flat_ones(off_surface, named, points, B):
    external, estimate = named.compute_external_B_offsurf_schedule(
        B, X_trg=points.T, levels="auto", return_estimate=True
    )
    np.testing.assert_array_equal(external, off_surface["external"].T)
    assert estimate.shape == (18,) and np.nanmax(estimate) < 0.1
    levels = build_offsurface_levels(24, 12, max_Nt=100)
    assert levels == ((24, 12), (48, 24), (96, 48))
    internal = named.compute_internal_B_offsurf_schedule_jit(B, X_trg=points.T, levels=levels)
    np.testing.assert_array_equal(internal, off_surface["internal"].T)


def test_knobs_change_memory_and_precision_but_not_the_answer(problem, named, B):
    external, scale = named.compute_external_B(B), np.abs(problem.B).max()
    knobs = dict(patch_dtype="float32", pou_dtype="float32", remat=True)
    other = named.compute_external_B(B, **knobs, chunk_size=None, target_chunk_size=7)
    assert np.abs(other - external).max() < 1e-6 * scale
    near = _read("call", dict(scan_targets=True, interp_block_size=None)).near
    assert near == dict(near_weights="streamed", near_block_size=2**31 - 1)
    named.precompute_singular(B)


def test_a_donated_field_gives_the_same_answer():
    problem = problems.axisymmetric(2, src_shape=(4, 16), trg_shape=(4, 16))
    casing = VirtualCasingJAX()
    nphi, ntheta = problem.X.shape[:2]
    casing.setup(2, 1, False, nphi, ntheta, flat(problem.X), 4, 16, 4, 16)
    B = jnp.moveaxis(jnp.asarray(problem.B), -1, 0)
    donated = casing.compute_external_B_jit(B, donate=True)
    assert problem.external_error(jnp.moveaxis(donated, 0, -1)) < 1e-2
    assert B.is_deleted()


def test_traced_fields_and_surfaces_are_followed(problem, named, B):
    """Tracing is enough to see it; compiled derivatives are tested with the core."""
    plan = named.plan_precision(B0=B)

    def loss(X, B):
        casing = VirtualCasingJAX()
        casing.setup(DIGITS, problem.nfp, True, 10, 20, X, 15, 75, 4, 6)
        return (casing.compute_external_B(B, precision=plan) ** 2).sum()

    X = jnp.moveaxis(jnp.asarray(problem.X), -1, 0)
    shapes = jax.eval_shape(jax.grad(loss, (0, 1)), X, B)
    assert [shape.shape for shape in shapes] == [X.shape, B.shape]
    field_only = jax.eval_shape(named.compute_external_B, B)
    assert field_only.shape == (3, 4, 6)
    # Without a field the quadrature serves whatever the source grid can hold.
    rule, finest = named.plan_precision(B0=B), named.plan_precision()
    assert finest.quad_ntheta >= rule.quad_ntheta

    def unplanned(X):
        casing = VirtualCasingJAX()
        casing.setup(DIGITS, problem.nfp, True, 10, 20, X, 15, 75, 4, 6)
        return casing.compute_external_B(B)

    with pytest.raises(VcjaxError, match="plan_precision"):
        jax.eval_shape(unplanned, X)


@pytest.mark.parametrize(
    "knobs, said",
    [
        (dict(quad_nt=100), "compute_external_B got quad_nt=100; leave it None"),
        (dict(X_trg=np.zeros((3, 2))), "call the form with _offsurf"),
        (dict(patch_idx=[1]), "patch_idx"),
        (dict(chunks=3), "got chunks, which it does not know"),
        (dict(chunk_size=0), "chunk_size=0"),
    ],
)
def test_knobs_that_could_change_a_result_unseen_are_refused(named, B, knobs, said):
    with pytest.raises(VcjaxError, match=said):
        named.compute_external_B(B, **knobs)


def test_arrays_with_components_last_are_refused(problem, named):
    with pytest.raises(VcjaxError, match=r"B0 of shape \(15, 75, 3\); give \(3, 15, 75\)"):
        named.compute_external_B(problem.B)
    with pytest.raises(VcjaxError, match="compute_external_B got no surface yet"):
        VirtualCasingJAX().compute_external_B(problem.B)
