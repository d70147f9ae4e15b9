"""Many devices give the numbers of one device: eight of one process, four of two processes."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import vcjax
from vcjax import problems
from vcjax._devices import device_mesh

PROGRAM = Path(__file__).with_name("devices_program.py")
# Rounding: a device cuts its share of the targets into other tiles, and derivatives are summed
# over devices.
ROUNDING = 1e-13


def start(device_count, *arguments):
    flags = "--xla_force_host_platform_device_count={} --xla_backend_optimization_level=0"
    settings = {
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
        "JAX_NUMPY_DTYPE_PROMOTION": "strict",
        # Programs that run for a blink and take long to compile: twice as fast without optimising.
        "XLA_FLAGS": flags.format(device_count),
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
    # The last line: gloo prints its connections first.
    return [json.loads(output.splitlines()[-1]) for output, _ in printed]


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    return str(tmp_path_factory.mktemp("devices") / "one.npz")


@pytest.fixture(scope="module")
def eight_devices(numbers):
    return reports([start(8, numbers)])[0]


@pytest.fixture(scope="module")
def two_processes(eight_devices, numbers):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    return reports([start(2, numbers, address, "2", str(number)) for number in range(2)])


def test_eight_devices_give_the_numbers_of_one(eight_devices):
    assert eight_devices["facts"]["devices"] == 8
    assert len(eight_devices["deviations"]) == 11
    worst = {k: v for k, v in eight_devices["deviations"].items() if not v <= ROUNDING}
    assert not worst


def test_two_processes_give_the_numbers_of_one_device(two_processes):
    for report in two_processes:
        assert report["facts"]["devices"] == 4
        worst = {k: v for k, v in report["deviations"].items() if not v <= ROUNDING}
        assert not worst


def test_every_device_prepares_its_own_rows_and_no_more(eight_devices, two_processes):
    assert eight_devices["facts"]["rows_per_device"] == [1] * 8
    assert [report["facts"]["rows_per_device"] for report in two_processes] == [[1, 1], [1, 1]]


def test_results_are_on_every_device_so_that_every_process_can_read_them(
    eight_devices, two_processes
):
    for report in (eight_devices, *two_processes):
        assert report["facts"]["result_everywhere"]


def test_programs_for_many_devices_capture_nothing(eight_devices):
    assert eight_devices["facts"]["captured_by_evaluation"] == 0
    assert eight_devices["facts"]["captured_by_preparation"] == 0


def test_more_devices_than_targets_are_refused(eight_devices):
    message = eight_devices["too_many_devices"]
    assert message.startswith("prepare got 8 devices for 5 targets; give at most 5")


@pytest.fixture(scope="module")
def problem():
    return problems.axisymmetric(3, shape=(4, 20), src_shape=(4, 20))


def test_one_device_of_a_mesh_gives_the_numbers_of_none(problem):
    rule = vcjax.choose(problem.X, problem.B, 2, nfp=1, trg_nphi=2, trg_ntheta=4)
    plain, meshed = (vcjax.prepare(rule, problem.X, devices=d) for d in (None, jax.devices()[:1]))
    assert meshed.devices is not None and meshed.devices.size == 1
    np.testing.assert_array_equal(
        vcjax.external_field(meshed, problem.B), vcjax.external_field(plain, problem.B)
    )


@pytest.mark.parametrize(
    "devices, message",
    [
        ("cpu", r"^prepare got devices='cpu'; give a jax.sharding.Mesh, a list"),
        (4, "prepare got devices=4; give"),
        ([0, 1], r"prepare got devices=\[0, 1\]; give"),
        ([], "prepare got 0 devices"),
        (lambda: jax.devices() * 2, "prepare got 2 devices, 1 of them different"),
    ],
)
def test_anything_but_devices_is_refused(devices, message):
    found = devices() if callable(devices) else devices
    with pytest.raises(vcjax.VcjaxError, match=message):
        device_mesh("prepare", found, 100)


def test_devices_of_another_platform_are_refused(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    with pytest.raises(vcjax.VcjaxError, match="got devices of cpu, but JAX runs on gpu here"):
        device_mesh("prepare", jax.devices(), 100)


def test_devices_of_other_processes_alone_are_refused(monkeypatch):
    monkeypatch.setattr(jax, "process_index", lambda: 3)
    with pytest.raises(vcjax.VcjaxError, match="process 3 takes part where one of its own"):
        device_mesh("prepare", jax.devices(), 100)
