"""Many devices give the numbers of one device: eight of one process, four of two processes."""

import dataclasses
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

import vcjax
from tests.vcjax.common import small_torus
from vcjax._data_checks.watch import check_evaluated, watch
from vcjax._devices import device_mesh

PROGRAM = Path(__file__).with_name("devices_program.py")
# Rounding differs, because the targets of a device are in other tiles, and because derivatives are
# summed over devices. The largest relative difference was 1.05e-13, at points near the surface.
ROUNDING = 2e-13


def start(device_count, *arguments):
    flags = os.environ["XLA_FLAGS"] + f" --xla_force_host_platform_device_count={device_count}"
    settings = {
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
        "JAX_NUMPY_DTYPE_PROMOTION": "strict",
        "XLA_FLAGS": flags,
    }
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(PROGRAM), *arguments],
        cwd=PROGRAM.parents[2],
        env={**os.environ, "PYTHONPATH": str(PROGRAM.parents[2]), **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def reports(processes):
    """Return the printed reports, and end all processes."""
    try:
        printed = [process.communicate(timeout=240) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, printed, strict=True):
        assert process.returncode == 0, errors
    # Before the report in the last line, gloo prints its connections.
    return [json.loads(output.splitlines()[-1]) for output, _ in printed]


@pytest.fixture(scope="module")
def all_reports(tmp_path_factory):
    """Return the report of eight devices, then the reports of two processes."""
    numbers = str(tmp_path_factory.mktemp("devices") / "one.npz")
    eight = reports([start(8, numbers)])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    return eight + reports([start(2, numbers, address, "2", str(number)) for number in range(2)])


def test_many_devices_give_the_numbers_of_one_device(all_reports):
    assert [report["facts"]["devices"] for report in all_reports] == [8, 4, 4]
    assert len(all_reports[0]["deviations"]) == 11
    for report in all_reports:
        assert not {k: v for k, v in report["deviations"].items() if not v <= ROUNDING}


def test_every_device_prepares_its_own_rows_and_holds_the_whole_result(all_reports):
    facts = [report["facts"] for report in all_reports]
    assert [fact["rows_per_device"] for fact in facts] == [[1] * 8, [1, 1], [1, 1]]
    # Every process can read the result.
    assert all(fact["result_everywhere"] for fact in facts)


def test_programs_for_many_devices_capture_nothing(all_reports):
    assert all_reports[0]["facts"]["captured_by_evaluation"] == 0
    assert all_reports[0]["facts"]["captured_by_preparation"] == 0


def test_more_devices_than_targets_are_refused(all_reports):
    message = all_reports[0]["too_many_devices"]
    assert message.startswith("prepare got 8 devices for 5 targets; give at most 5")


@pytest.mark.parametrize(
    "devices, message",
    [
        ("cpu", r"^prepare got devices='cpu'; give a jax.sharding.Mesh, a list"),
        (4, "prepare got devices=4; give"),
        (np.array(jax.devices()[0]), r"prepare got devices=array\(.*\); give"),
        ([0, 1], r"prepare got devices=\[0, 1\]; give"),
        ([], "prepare got 0 devices"),
        ("", "prepare got 0 devices"),
        (jax.devices() * 2, r"prepare got 2 devices \(1 without repetitions\)"),
    ],
)
def test_anything_but_different_devices_is_refused(devices, message):
    with pytest.raises(vcjax.VcjaxError, match=message):
        device_mesh("prepare", devices, 100)


@pytest.mark.parametrize(
    "function, value, message",
    [
        ("default_backend", "tpu", r"got devices of \w+, but JAX runs on tpu here"),
        ("process_index", 3, r"include a device of this process \(process 3\)"),
    ],
)
def test_devices_of_another_platform_or_process_are_refused(monkeypatch, function, value, message):
    monkeypatch.setattr(jax, function, lambda: value)
    with pytest.raises(vcjax.VcjaxError, match=message):
        device_mesh("prepare", jax.devices(), 100)


def external_field(casing, B, X):
    return vcjax.external_field(casing, B)


def slope_in_the_surface(casing, B, X):
    def total(X):
        return vcjax.external_field(vcjax.prepare(casing.rule, X), B).sum()

    return jax.grad(total)(X)


def external_gradient(casing, B, X):
    rule = dataclasses.replace(casing.rule, gradient=True)
    return vcjax.external_gradient(vcjax.prepare_gradient(rule, X), B)


def field_off_the_surface(casing, B, X):
    return vcjax.field_at(casing, B, 1.001 * X[0, :4]).internal


def gradient_off_the_surface(casing, B, X):
    return vcjax.gradient_at(casing, B, 1.001 * X[0, :4]).internal


def slope_in_points(casing, B, X):
    return jax.grad(lambda points: vcjax.field_at(casing, B, points).internal.sum())(
        1.001 * X[0, :4]
    )


@pytest.mark.filterwarnings("ignore::vcjax.UnresolvedWarning")
@pytest.mark.parametrize(
    "function",
    [
        external_field,
        slope_in_the_surface,
        external_gradient,
        field_off_the_surface,
        gradient_off_the_surface,
        slope_in_points,
    ],
)
def test_a_function_in_the_shard_map_of_the_user_gives_the_same_numbers(function):
    X, B = small_torus().X, small_torus().B
    if function in (field_off_the_surface, gradient_off_the_surface, slope_in_points):
        casing = vcjax.prepare_off_surface(vcjax.choose_off_surface(X, B, 1, nfp=1), X)
    else:
        rule = vcjax.choose(X, B, 2, nfp=1, trg_nphi=2, trg_ntheta=3)
        casing = vcjax.prepare(rule, X)
    mesh, divided = Mesh(np.array(jax.devices()[:1]), ("fields",)), PartitionSpec("fields")
    mapped = jax.shard_map(
        lambda casing, fields: function(casing, fields[0], X)[None],
        mesh=mesh,
        in_specs=(PartitionSpec(), divided),
        out_specs=divided,
    )
    result = jax.jit(mapped)(casing, jnp.asarray(B)[None])[0]
    # A derivative outside `jax.jit` would compile several programs.
    expected = jax.jit(lambda casing, B: function(casing, B, X))(casing, B)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-9)


def test_devices_inside_another_mesh_are_refused():
    problem = small_torus()
    rule = vcjax.choose(problem.X, problem.B, 2, nfp=1, trg_nphi=2, trg_ntheta=3)
    casing = vcjax.prepare(rule, problem.X, devices=jax.devices()[:1])
    message = "got devices, but was called inside jax.set_mesh or jax.shard_map"
    with jax.set_mesh(jax.make_mesh((1,), ("other",))):
        with pytest.raises(vcjax.VcjaxError, match=f"^prepare {message}"):
            vcjax.prepare(rule, problem.X, devices=jax.devices()[:1])
        with pytest.raises(vcjax.VcjaxError, match=f"^external_field {message}"):
            vcjax.external_field(casing, problem.B)
        vcjax.external_field(vcjax.prepare(rule, problem.X), problem.B)


class Elsewhere:
    """An array of which another process holds a part."""

    is_fully_addressable = False
    shape = (4, 5, 3)

    def __array__(self, *_, **__):
        raise RuntimeError("this process cannot read the array")


def test_arrays_that_are_divided_among_processes_are_not_checked():
    problem = small_torus()
    rule = vcjax.choose(problem.X, problem.B, 2, nfp=1)
    casing = vcjax.prepare(rule, problem.X)
    check_evaluated("external_field", casing, Elsewhere())
    watch("prepare", casing, Elsewhere())
