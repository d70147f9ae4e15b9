"""The wout reader: the tokamak of the package is an equilibrium, and bad files are refused."""

import re

import numpy as np
import pytest
from scipy.io import netcdf_file

import vcjax
from tests.vcjax.common import unit_normals, write_netcdf
from vcjax import problems, wout

MODES = ("xm", "xn", "xm_nyq", "xn_nyq")
TABLES = ("rmnc", "zmns", "bsupumnc", "bsupvmnc")
FILL_VALUE = 9.969209968386869e36
"""The number that NetCDF libraries store until a variable is written."""


@pytest.fixture(scope="module")
def tokamak():
    return wout.read_wout(wout.tokamak_path())


@pytest.fixture
def variables():
    """Return the variables that the reader needs, from the committed file."""
    names = ("nfp", "lasym__logical__", "ier_flag", *MODES, *TABLES)
    with netcdf_file(wout.tokamak_path(), mmap=False) as file:
        return {name: np.array(file.variables[name].data) for name in names}


def test_the_packaged_tokamak_has_a_major_radius_of_6_m_and_a_field_of_about_5_T(tokamak):
    X = tokamak.boundary(8, 64)
    radius = np.hypot(X[..., 0], X[..., 1])
    assert tokamak.nfp == 1
    assert (radius.min() + radius.max()) / 2 == pytest.approx(6.0, abs=0.2)
    assert (radius.max() - radius.min()) / 2 == pytest.approx(2.0, abs=0.05)
    assert X[..., 2].max() == pytest.approx(3.2, abs=0.01)
    strength = np.linalg.norm(tokamak.field(8, 64), axis=2)
    assert 3.0 < strength.min() < 5.0 < strength.max() < 9.0


@pytest.mark.parametrize("half_period", [True, False])
def test_no_field_crosses_the_boundary(tokamak, half_period):
    X, B = (make(10, 80, half_period=half_period) for make in (tokamak.boundary, tokamak.field))
    normal = unit_normals(X, nfp=1, half_period=half_period, nphi=10, ntheta=80)
    assert np.abs((B * normal).sum(axis=2)).max() < 1e-10 * np.abs(B).max()


def test_no_current_crosses_the_boundary(tokamak):
    """R B_phi is then constant along theta, to the accuracy of the file."""
    X, B = tokamak.boundary(6, 80), tokamak.field(6, 80)
    along_phi, along_theta = vcjax.surface_tangents(X, nfp=1, half_period=True, nphi=6, ntheta=80)
    enclosed = (B * along_phi).sum(axis=2)
    np.testing.assert_allclose(enclosed, enclosed.mean(), rtol=2e-4)
    with netcdf_file(wout.tokamak_path(), mmap=False) as file:
        rbtor, ctor = (float(file.variables[name].data) for name in ("rbtor", "ctor"))
    assert enclosed.mean() == pytest.approx(rbtor, rel=1e-4)
    plasma = (B * along_theta).sum(axis=2).mean(axis=1) * 2 * np.pi / (4e-7 * np.pi)
    # theta runs from e_R to e_Z, left-handed about e_phi.
    np.testing.assert_allclose(plasma, -ctor, rtol=1e-3)


def test_the_half_period_is_part_of_the_symmetric_full_period(tokamak):
    """The rows are every other row of a full grid that is twice as fine and symmetric."""
    parity = {"boundary": [1.0, -1.0, -1.0], "field": [-1.0, 1.0, 1.0]}
    for name, signs in parity.items():
        half = getattr(tokamak, name)(5, 12, half_period=True)
        full = getattr(tokamak, name)(20, 12, half_period=False)
        scale = np.abs(full).max()
        np.testing.assert_allclose(half, full[1:10:2], rtol=0, atol=1e-13 * scale)
        mirrored = full[-np.arange(20) % 20][:, -np.arange(12) % 12]
        np.testing.assert_allclose(mirrored, full * signs, rtol=0, atol=1e-13 * scale)


def test_mode_numbers_have_the_convention_of_vmec(tmp_path):
    """Read a rotating ellipse that is written as a wout file.

    The convention is R = sum r cos(m theta - n phi), where n has the factor nfp. With B^phi = 1 and
    B^theta = cos(theta - 3 phi), the field is a known sum of the tangents.
    """
    path = write_netcdf(
        tmp_path / "wout_ellipse.nc",
        {
            "nfp": np.int32(3),
            "lasym__logical__": np.int32(0),
            "xm": np.array([0.0, 1.0, 1.0]),
            "xn": np.array([0.0, 0.0, 3.0]),
            "rmnc": np.tile([2.0, 0.85, -0.15], (3, 1)),
            "zmns": np.tile([0.0, 0.85, 0.15], (3, 1)),
            "xm_nyq": np.array([0.0, 1.0]),
            "xn_nyq": np.array([0.0, 3.0]),
            "bsupvmnc": np.tile([1.0, 0.0], (3, 1)),
            "bsupumnc": np.tile([0.0, 1.0], (3, 1)),
        },
    )
    ellipse = problems.rotating_ellipse_surface(3, major_radius=2.0, semi_axes=(0.7, 1.0))
    X = ellipse.points(12, 10, half_period=True)
    read = wout.read_wout(path)
    np.testing.assert_allclose(read.boundary(12, 10), X, rtol=0, atol=1e-14)
    along_phi, along_theta = vcjax.surface_tangents(X, nfp=3, half_period=True, nphi=12, ntheta=10)
    phi = (np.arange(12)[:, None] + 0.5) * np.pi / 36
    theta = 2 * np.pi * np.arange(10)[None, :] / 10
    known = along_phi + np.cos(theta - 3 * phi)[..., None] * along_theta
    np.testing.assert_allclose(read.field(12, 10), known, rtol=0, atol=1e-12)


def test_the_edge_field_is_extrapolated_from_the_half_grid(tmp_path, variables):
    variables["bsupvmnc"][-2:, 0] = [3.0, 4.0]
    read = wout.read_wout(write_netcdf(tmp_path / "wout.nc", variables))
    assert read.b_phi_cos[0] == pytest.approx(4.5)


def refusal(path):
    with pytest.raises(vcjax.VcjaxError) as caught:
        wout.read_wout(path)
    message = str(caught.value)
    assert message.startswith("wout.read_wout ") and str(path) in message
    return message


def test_a_missing_file_or_a_folder_is_refused(tmp_path):
    assert "No such file" in refusal(tmp_path / "wout_nowhere.nc")
    assert "cannot open" in refusal(tmp_path)
    with pytest.raises(vcjax.VcjaxError, match="^wout.from_wout cannot open .*null"):
        wout.from_wout("wout\0.nc", 3, trg_nphi=2, trg_ntheta=4)


def test_files_of_other_kinds_are_refused(tmp_path):
    path = tmp_path / "wout.nc"
    for content in (b"", b"&INDATA\n  LASYM = F\n/\n", b"CDF\x05" + bytes(100)):
        path.write_bytes(content)
        assert "not a NetCDF-3 file" in refusal(path)
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert "nccopy" in refusal(path)


@pytest.mark.parametrize("kept", [4, 8, 100, 1000, 20_000, -20_000, -8])
def test_a_truncated_file_is_refused(tmp_path, kept):
    path = tmp_path / "wout.nc"
    path.write_bytes(wout.tokamak_path().read_bytes()[:kept])
    message = refusal(path)
    assert "truncated" in message or "lacks" in message


def test_damaged_files_are_read_or_refused_with_an_error_of_vcjax(tmp_path):
    content, random = wout.tokamak_path().read_bytes(), np.random.default_rng(0)
    path = tmp_path / "wout.nc"
    refused = 0
    for _ in range(100):
        damaged = bytearray(content)
        for position in random.integers(3, 4000, 3):
            damaged[position] = random.integers(0, 256)
        path.write_bytes(damaged)
        try:
            wout.read_wout(path)
        except vcjax.VcjaxError:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize(
    "changes, said",
    [
        (dict(xn=None, bsupumnc=None), "lacks the variables xn, bsupumnc"),
        (dict(lasym__logical__=np.int32(1)), "without stellarator symmetry"),
        (dict(lasym__logical__=np.zeros(3)), "a single number"),
        (dict(nfp=np.ones((1, 1))), "a single number"),
        (dict(nfp=np.float64(1.5)), "nfp = 1.5; it must be an integer"),
        (dict(nfp=np.int32(0)), "nfp = 0"),
        (dict(nfp=np.int32(10**9)), r"nfp = 1e\+09; it must be an integer from 1 to 1000"),
        (dict(rmnc=np.float64(6.0)), r"rmnc of shape \(\); VMEC writes a table"),
        (dict(xm=np.zeros((2, 6))), r"xm of shape \(2, 6\); VMEC writes a list"),
        (dict(zmns=lambda values: values[:, :-1]), "zmns of shape"),
        (dict.fromkeys(TABLES, lambda values: values[-2:]), "2 flux surfaces"),
        *[({name: lambda v: v + 0.5}, f"{name} of .*whole numbers") for name in MODES],
        *[
            (
                {"nfp": np.int32(5), name: lambda v: np.full_like(v, 6.0)},
                f"{name} of 6; VMEC writes multiples of nfp = 5",
            )
            for name in ("xn", "xn_nyq")
        ],
        *[
            (
                {name: lambda v, bad=bad: np.where(v == v[-1, 1], bad, v)},
                f"numbers in {name} that are NaN, infinite or not written",
            )
            for name in TABLES
            for bad in (np.nan, FILL_VALUE)
        ],
        *[
            (
                dict.fromkeys(names, np.zeros_like),
                f"all {' and '.join(names)} at the edge are zero",
            )
            for names in (("rmnc",), ("zmns",), ("bsupumnc", "bsupvmnc"))
        ],
    ],
)
def test_files_with_unusable_variables_are_refused_with_the_reason(
    tmp_path, variables, changes, said
):
    for name, new in changes.items():
        old = variables.pop(name)
        if new is not None:
            variables[name] = new(old) if callable(new) else new
    assert re.search(said, refusal(write_netcdf(tmp_path / "wout.nc", variables)))


def test_a_file_of_a_run_that_did_not_converge_is_read_with_a_warning(tmp_path, variables, tokamak):
    path = write_netcdf(tmp_path / "wout.nc", variables | dict(ier_flag=np.int32(2)))
    said = "read_wout got .*ier_flag = 2: VMEC stopped before it converged.*NITER_ARRAY"
    with pytest.warns(vcjax.ContradictionWarning, match=said):
        equilibrium = wout.read_wout(path)
    np.testing.assert_array_equal(equilibrium.field(2, 8), tokamak.field(2, 8))


@pytest.mark.parametrize(
    "call, grid, half_period, said",
    [
        ("field", (0, 10), True, "nphi=0"),
        ("boundary", (4, -1), True, "ntheta=-1"),
        ("unit_normal", (4, 8), "no", "half_period='no'"),
    ],
)
def test_impossible_grids_are_refused(no_shape_checks, tokamak, call, grid, half_period, said):
    with pytest.raises(vcjax.VcjaxError, match=f"^Equilibrium.{call} got {said}"):
        getattr(tokamak, call)(*grid, half_period=half_period)
