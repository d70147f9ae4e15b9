"""Compare the replacement for simsopt's class with simsopt, with C++ and with known fields."""

import copy
import dataclasses
import functools
import shutil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.io import netcdf_file

import vcjax
from tests.vcjax.common import EQUILIBRIA, flat, write_netcdf
from vcjax import VcjaxError, problems, wout
from vcjax.interfaces.simsopt import VirtualCasing, best_nphi_over_ntheta

FILES = {"tokamak": wout.tokamak_path()} | {
    name: EQUILIBRIA / f"wout_{name}.nc"
    for name in ("ellipse", "free_boundary_8", "free_boundary_12")
}
DIGITS = 5
GRIDS: dict[str, Any] = dict(src_nphi=24, src_ntheta=64, trgt_nphi=2, trgt_ntheta=16, digits=DIGITS)
ATTRIBUTES = {
    *("nfp", "src_nphi", "src_ntheta", "src_phi", "src_theta", "gamma", "B_total"),
    *("trgt_nphi", "trgt_ntheta", "trgt_phi", "trgt_theta", "trgt_nphi_extended"),
    *("unit_normal", "B_external", "B_external_normal", "B_external_normal_extended"),
}


@functools.cache
def separated(name):
    return VirtualCasing.from_vmec(FILES[name], **GRIDS, filename=None)


@pytest.mark.parametrize("name", ["tokamak", "ellipse"])
def test_the_cpp_package_agrees_to_the_digits_asked_for(name):
    package = pytest.importorskip("virtual_casing", reason="the C++ package has no wheel here")
    ours, casing = separated(name), package.VirtualCasing()
    src, trg = (ours.src_nphi, ours.src_ntheta), (ours.trgt_nphi, ours.trgt_ntheta)
    casing.setup(DIGITS, ours.nfp, True, *src, flat(ours.gamma), *src, *trg)
    difference = flat(ours.B_external) - casing.compute_external_B(flat(ours.B_total))
    assert np.abs(difference).max() <= 10.0**-DIGITS * np.abs(ours.B_total).max()


@pytest.mark.parametrize("name", FILES)
def test_simsopt_has_the_same_attributes_and_both_load_each_others_files(name, tmp_path):
    pytest.importorskip("virtual_casing", reason="simsopt needs it")
    mhd = pytest.importorskip("simsopt.mhd", reason="simsopt is not installed")
    shutil.copy(FILES[name], tmp_path / f"wout_{name}.nc")
    theirs = mhd.VirtualCasing.from_vmec(str(tmp_path / f"wout_{name}.nc"), **GRIDS)
    ours, scale = separated(name), np.abs(theirs.B_total).max()
    for attribute in ATTRIBUTES:
        difference = np.abs(getattr(ours, attribute) - getattr(theirs, attribute)).max()
        limit = 10.0**-DIGITS * scale if "B_ext" in attribute else 1e-12 * scale
        assert difference <= limit, attribute
    ours.save(tmp_path / "ours.nc")
    loaded = mhd.VirtualCasing.load(str(tmp_path / "ours.nc"))
    same = VirtualCasing.load(tmp_path / f"vcasing_{name}.nc")
    for attribute in ATTRIBUTES - {"B_external_normal_extended"}:
        np.testing.assert_array_equal(getattr(loaded, attribute), getattr(ours, attribute))
        np.testing.assert_array_equal(getattr(same, attribute), getattr(theirs, attribute))


@pytest.mark.parametrize("name, limit", [("free_boundary_8", 5e-4), ("free_boundary_12", 1e-4)])
def test_the_external_field_of_a_free_boundary_equilibrium_comes_from_its_coils(name, limit):
    ours = separated(name)
    targets = wout.read_wout(FILES[name]).boundary(ours.trgt_nphi, ours.trgt_ntheta)
    known = problems.magnetic_field(problems.tokamak_coils(), targets)
    error = np.linalg.norm(ours.B_external - known, axis=2) / np.linalg.norm(known, axis=2)
    assert error.max() <= limit
    # The field of the plasma is large: more than a tenth of the field of the coils.
    B = wout.read_wout(FILES[name]).field(ours.trgt_nphi, ours.trgt_ntheta)
    assert np.linalg.norm(B - known, axis=2).max() > 0.1 * np.linalg.norm(known, axis=2).max()


def test_the_extended_normal_component_agrees_with_a_calculation_without_symmetry():
    half = separated("ellipse")
    grids: dict[str, Any] = GRIDS | dict(
        src_nphi=48, trgt_nphi=8, use_stellsym=False, filename=None
    )
    full = VirtualCasing.from_vmec(FILES["ellipse"], **grids)
    assert full.B_external_normal_extended.shape == (full.trgt_nphi_extended, 16) == (24, 16)
    assert half.B_external_normal_extended.shape == (half.trgt_nphi_extended, 16) == (12, 16)
    scale = np.abs(full.B_total).max()
    assert np.abs(half.B_external_normal).max() > 1e-3 * scale
    # The rows of the half period, extended to the whole torus, are every other row of `full`.
    difference = half.B_external_normal_extended - full.B_external_normal_extended[1::2]
    assert np.abs(difference).max() <= 2 * 10.0**-DIGITS * scale
    np.testing.assert_allclose(full.trgt_phi, np.arange(8) / 24, rtol=0, atol=1e-15)
    np.testing.assert_allclose(half.trgt_phi, [1 / 24, 3 / 24], rtol=0, atol=1e-15)


def test_a_saved_file_loads_equal_and_holds_the_variables_of_simsopt(tmp_path):
    ours = separated("ellipse")
    ours.save(tmp_path / "vcasing.nc")
    loaded = VirtualCasing.load(tmp_path / "vcasing.nc")
    for attribute in ATTRIBUTES:
        np.testing.assert_array_equal(getattr(loaded, attribute), getattr(ours, attribute))
    with netcdf_file(tmp_path / "vcasing.nc", mmap=False) as file:
        assert set(file.variables) == ATTRIBUTES
        assert file.dimensions["trgt_nphi_extended"] == 12
        assert file.variables["B_external"].units == b"Tesla"


@pytest.mark.parametrize(
    "changes, said",
    [
        (dict(B_external=np.zeros((2, 15, 3))), r"got B_external of shape \(2, 15, 3\)"),
        (dict(B_total=np.full((24, 64, 3), np.nan)), "got B_total .* 4608.* finite"),
        (dict(nfp=2.5), "got nfp .* a whole number above 0"),
        (dict(nfp="x"), "got an attribute that is not numeric"),
    ],
)
def test_changed_attributes_that_cannot_be_loaded_are_not_saved(tmp_path, changes, said):
    path = tmp_path / "vcasing.nc"
    separated("ellipse").save(path)
    saved = path.read_bytes()
    changed = copy.copy(separated("ellipse"))
    vars(changed).update(changes)
    with pytest.raises(VcjaxError, match=f"^save {said}"):
        changed.save(path)
    assert path.read_bytes() == saved


def test_an_equilibrium_may_be_an_object_and_the_result_is_saved_next_to_its_file(tmp_path):
    shutil.copy(FILES["ellipse"], path := tmp_path / "wout_mine.nc")
    vmec = SimpleNamespace(output_file=None)
    vmec.run = lambda: setattr(vmec, "output_file", str(path))
    ours = VirtualCasing.from_vmec(vmec, **GRIDS)
    np.testing.assert_array_equal(ours.B_external, separated("ellipse").B_external)
    saved = VirtualCasing.load(tmp_path / "vcasing_mine.nc")
    np.testing.assert_array_equal(saved.B_external, ours.B_external)


def test_the_ratio_of_the_default_grid_equals_the_ratio_of_simsopt_1_11():
    ratio = best_nphi_over_ntheta(wout.read_wout(FILES["tokamak"]))
    assert ratio == pytest.approx(2.2279599634534, rel=1e-12)


def test_the_plot_has_the_name_of_the_normal_component_and_uses_given_axes():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    ours = separated("ellipse")
    axes = ours.plot(show=False)
    assert "B_external_normal" in axes.get_title()
    _, mine = pyplot.subplots()
    assert ours.plot(ax=mine, show=False) is mine
    pyplot.close("all")


def test_bad_equilibria_and_files_are_refused(tmp_path):
    ellipse, saved = FILES["ellipse"], tmp_path / "vcasing.nc"
    separated("ellipse").save(saved)
    with netcdf_file(saved, mmap=False) as file:
        whole = {name: variable.data.copy() for name, variable in file.variables.items()}
    odd = write_netcdf(tmp_path / "odd.nc", whole | {"nfp": np.ones(1)})
    none = write_netcdf(tmp_path / "none.nc", whole | {"nfp": 0})
    saved.write_bytes(saved.read_bytes()[:-3000])
    missing = tmp_path / "no" / "folder.nc"
    arguments: Any
    for call, arguments, said in (
        (VirtualCasing.from_vmec, (3, 8), "from_vmec got vmec of type int"),
        (VirtualCasing.from_vmec, (tmp_path / "input.mine", 8), "a VMEC input file"),
        (VirtualCasing.from_vmec, (tmp_path / "wout_nowhere.nc", 8), "^from_vmec .*No such file"),
        (VirtualCasing.from_vmec, (ellipse, 0), "from_vmec got src_nphi=0"),
        (VirtualCasing.load, (ellipse,), "load got .* which lacks the variables src_nphi"),
        (VirtualCasing.load, (saved,), "load (cannot read|got)"),
        (VirtualCasing.load, (odd,), r"load got .* with nfp of shape \(1,\)"),
        (VirtualCasing.load, (none,), "load got .* with nfp .* a whole number above 0"),
        (separated("ellipse").save, (missing,), "save cannot write"),
    ):
        with pytest.raises(VcjaxError, match=said):
            call(*arguments)


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_computed(
    tmp_path, monkeypatch
):
    monkeypatch.delattr("vcjax.interfaces.simsopt._separated")
    shutil.copy(FILES["ellipse"], wout_file := tmp_path / "wout_mine.nc")
    (folder := tmp_path / "vcasing_mine.nc").mkdir()
    for filename in (tmp_path / "no" / "folder.nc", folder, "nul\0"):
        with pytest.raises(VcjaxError, match="^from_vmec cannot write"):
            VirtualCasing.from_vmec(SimpleNamespace(), 4, filename=filename)
    with pytest.raises(VcjaxError, match="^from_vmec cannot write .*vcasing_mine.nc"):
        VirtualCasing.from_vmec(wout_file, 4)
    with pytest.raises(VcjaxError, match="^from_vmec got vmec"):
        VirtualCasing.from_vmec(SimpleNamespace(), 4, filename=tmp_path / "new.nc")
    assert sorted(tmp_path.iterdir()) == [folder, wout_file]


def test_from_wout_prepares_the_casing_that_separates_an_equilibrium():
    name = "free_boundary_8"
    ours, equilibrium = separated(name), wout.read_wout(FILES[name])
    casing, B = wout.from_wout(FILES[name], DIGITS, trg_nphi=2, trg_ntheta=16)
    np.testing.assert_array_equal(B, equilibrium.field(*equilibrium.exact_grid()))
    B_ext = np.asarray(vcjax.external_field(casing, B))
    assert np.abs(B_ext - ours.B_external).max() <= 10.0**-DIGITS * np.abs(B).max()


@pytest.mark.parametrize("half_period", [True, False])
def test_the_exact_grid_resolves_an_equilibrium(half_period):
    equilibrium = wout.read_wout(FILES["ellipse"])
    grid = equilibrium.exact_grid(half_period=half_period)
    kind: dict[str, Any] = dict(nfp=equilibrium.nfp, half_period=half_period)
    X = equilibrium.boundary(*grid, half_period=half_period)
    finer = vcjax.surface_points(X, **kind, nphi=29, ntheta=61)
    known = equilibrium.boundary(29, 61, half_period=half_period)
    np.testing.assert_allclose(finer, known, rtol=0, atol=1e-12)
    B = equilibrium.field(*grid, half_period=half_period)
    assert vcjax.spectral_tail(B, **kind) < 1e-12


def test_the_normal_at_a_single_point_on_the_inner_side_points_outward():
    tokamak = wout.read_wout(FILES["tokamak"])
    signs = (-1.0) ** tokamak.m
    turned = dataclasses.replace(tokamak, r_cos=signs * tokamak.r_cos, z_sin=signs * tokamak.z_sin)
    normal, point = turned.unit_normal(1, 1), turned.boundary(1, 1)
    np.testing.assert_allclose(normal, -point / np.linalg.norm(point), rtol=0, atol=1e-14)


@pytest.mark.parametrize("half_period", [True, False])
def test_unit_normals_have_length_one_and_are_perpendicular_to_the_tangents(half_period):
    equilibrium = wout.read_wout(FILES["ellipse"])
    normal = equilibrium.unit_normal(5, 9, half_period=half_period)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=2), 1.0, rtol=1e-14)
    tangents = equilibrium.tangents(5, 9, half_period=half_period)
    assert max(np.abs((normal * tangent).sum(axis=2)).max() for tangent in tangents) < 1e-13
