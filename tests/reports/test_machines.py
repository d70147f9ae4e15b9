"""Environments of records that may be compared, and of processes that ended early."""

import dataclasses
from pathlib import Path

import pytest

from reports.store.load import StoredRecord
from reports.store.machines import UNKNOWN, environment_names, machine_name
from tests.reports import made_up

BEFORE_JAX = {"backend": None, "device_kind": None, "device_count": None, "jax_options": {}}
FLAGS = "--xla_cpu_multi_thread_eigen=false"


def one(case="a/b", *, commit="a" * 40, key="env", succeeded=True, silent=False, **recorded):
    """Return the stored record of a process that succeeded or failed."""
    make = made_up.record if succeeded else made_up.failed
    environment = None if silent else made_up.environment(**recorded)
    record = dataclasses.replace(make(case, {}), environment=environment)
    return StoredRecord(commit, key, case, 0, Path(), record)


def ended_early(*place, **recorded):
    """Return the stored record of a process that ended before JAX started."""
    return one(*place, succeeded=False, **BEFORE_JAX | recorded)


def environments(*records):
    return environment_names(records)


def test_an_environment_has_a_readable_name():
    (name,) = environments(one())
    words = name.partition(", ")[2]
    assert words == "2 CPUs, Python 3.11, JAX 0.10.2, cpu, x64"
    gpu = one(backend="gpu", device_kind="Example 9", jaxlib="0.10.1", xla_flags="-f")
    (name,) = environments(gpu)
    assert name.endswith("JAX 0.10.2, jaxlib 0.10.1, gpu Example 9, x64, -f")


@pytest.mark.parametrize(
    "change",
    [
        {"python": "3.13.0"},
        {"cpus_available": 64},
        {"jax_options": {"jax_enable_x64": False}},
        {"device_kind": "Example 9"},
        {"machine": "other"},
        {"jax": "0.11.0"},
        {"jaxlib": "0.11.0"},
        {"backend": "gpu"},
    ],
)
def test_another_machine_device_cpu_count_float_width_or_version_is_another_environment(change):
    assert len(set(environments(one(), one(key="env2", **change)))) == 2


def test_patches_of_python_and_numpys_version_make_no_other_environment():
    assert len(set(environments(one(), one(key="env2", python="3.11.14", numpy="2.5.0")))) == 1


def test_a_case_bound_to_one_cpu_is_in_the_environment_of_its_folder():
    assert len(set(environments(one(), one("a/bound", cpus_available=1)))) == 1


def test_a_process_that_ended_early_before_jax_started_is_in_the_environment_of_its_folder():
    assert len(set(environments(one(), ended_early(), ended_early("a/c")))) == 1
    elsewhere, mine = environments(one(), ended_early(key="another"))
    assert mine != elsewhere


def test_a_commit_whose_processes_all_ended_early_is_in_the_environment_of_the_other_commit():
    for head in (
        ended_early(commit="b" * 40, jax=None, jaxlib=None),
        one(commit="b" * 40, succeeded=False, silent=True),
    ):
        assert environments(one(), head) == environments(one()) * 2


@pytest.mark.parametrize(
    "change", [{"jax": "0.12.0"}, {"machine": "other"}, {"cpu_model": "x"}, {"python": "3.13.1"}]
)
def test_a_process_of_another_machine_or_jax_is_in_an_environment_of_its_own(change):
    good, other = environments(one(), ended_early(**change))
    assert other not in (good, UNKNOWN)


def test_processes_that_ended_early_take_the_environment_of_their_case():
    plain, flagged = one("a/plain"), one("a/flagged", xla_flags=FLAGS)
    dead = [ended_early("a/flagged", commit="b" * 40), ended_early("a/plain", commit="b" * 40)]
    silent = [
        dataclasses.replace(one, record=dataclasses.replace(one.record, environment=None))
        for one in dead
    ]
    expected = environments(flagged, plain)
    assert environments(plain, flagged, *dead, *silent)[2:] == expected * 2


def test_an_unknown_case_takes_the_environment_with_its_flags():
    rows = one("a/plain"), one("a/flagged", xla_flags=FLAGS), ended_early("a/new", xla_flags=FLAGS)
    plain, flagged, new = environments(*rows)
    assert new == flagged != plain


def test_killed_processes_stay_with_the_machine_of_their_commit():
    commits = "a" * 40, "b" * 40
    rows = [
        one("a/b", commit=commits[0], machine="here"),
        one("a/c", commit=commits[1], machine="there"),
        one("a/b", commit=commits[1], succeeded=False, silent=True),
    ]
    here, there, killed = environments(*rows)
    assert killed == there != here


def test_the_environment_of_killed_processes_is_unknown_where_several_fit():
    rows = [one("a/b", machine="here"), one("a/c", machine="there")]
    here, there, killed = environments(*rows, one("a/d", succeeded=False, silent=True))
    assert here != there and killed == UNKNOWN


def test_a_machine_has_one_name_with_and_without_its_device():
    recorded = made_up.environment(backend="gpu", device_kind="Example 9")
    assert machine_name(recorded) == machine_name(dataclasses.replace(recorded, **BEFORE_JAX))
