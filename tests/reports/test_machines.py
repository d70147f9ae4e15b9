"""Settings: what may be compared, and where processes belong that died before they could tell."""

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from reports.load import StoredRecord
from reports.machines import UNKNOWN, machine_name, with_environment
from reports.tables import measurement_row

BEFORE_JAX = {"backend": None, "device_kind": None, "device_count": None, "jax_options": {}}
FLAGS = "--xla_cpu_multi_thread_eigen=false"


@pytest.fixture
def one(made_up):
    """A row of the table: a process that succeeded, or not where it is `failed`."""

    def made(case="a/b", *, commit="a" * 40, key="env", ended_well=True, silent=False, **told):
        make = made_up.record if ended_well else made_up.failed
        environment = None if silent else made_up.environment(**told)
        record = dataclasses.replace(make(case, {}), environment=environment)
        return measurement_row(StoredRecord(commit, key, case, 0, Path(), record))

    return made


@pytest.fixture
def died(one):
    """A process that ended before JAX had started."""
    return lambda *place, **told: one(*place, ended_well=False, **BEFORE_JAX | told)


def settings(*rows):
    return list(with_environment(pd.DataFrame(list(rows)))["environment"])


def test_a_setting_is_told_in_words(one):
    (name,) = settings(one())
    words = name.partition(", ")[2]
    assert words == "2 CPUs, Python 3.11, JAX 0.10.2, cpu, x64"
    (name,) = settings(one(backend="gpu", device_kind="Example 9", jaxlib="0.10.1", xla_flags="-f"))
    assert name.endswith("JAX 0.10.2, jaxlib 0.10.1, gpu Example 9, x64, -f")


@pytest.mark.parametrize(
    "change",
    [
        {"python": "3.13.0"},
        {"cpus_available": 64},
        {"jax_options": {"jax_enable_x64": False}},
        {"device_kind": "Example 9"},
        {"machine": "other"},
    ],
)
def test_another_python_width_of_floats_number_of_cpus_or_device_is_another_setting(one, change):
    assert len(set(settings(one(), one(key="env2", **change)))) == 2


def test_patches_of_python_and_numpys_version_make_no_other_setting(one):
    assert len(set(settings(one(), one(key="env2", python="3.11.14", numpy="2.5.0")))) == 1


def test_a_cell_bound_to_one_cpu_is_in_the_setting_of_its_folder(one):
    assert len(set(settings(one(), one("a/bound", cpus_available=1)))) == 1


def test_a_process_that_died_before_jax_started_is_in_the_setting_of_its_folder(one, died):
    assert len(set(settings(one(), died(), died("a/c")))) == 1
    elsewhere, mine = settings(one(), died(key="another"))
    assert mine != elsewhere


def test_a_commit_of_which_every_process_died_is_in_the_setting_of_the_other(one, died):
    for head in (
        died(commit="b" * 40, jax=None, jaxlib=None),
        one(commit="b" * 40, ended_well=False, silent=True),
    ):
        assert settings(one(), head) == settings(one()) * 2


@pytest.mark.parametrize(
    "change", [{"jax": "0.12.0"}, {"machine": "other"}, {"cpu_model": "x"}, {"python": "3.13.1"}]
)
def test_a_process_that_died_elsewhere_or_with_another_jax_is_not_its_neighbours(one, died, change):
    good, other = settings(one(), died(**change))
    assert other not in (good, UNKNOWN)


def test_of_several_settings_in_a_folder_the_dead_take_that_of_their_cell(one, died):
    plain, flagged = one("a/plain"), one("a/flagged", xla_flags=FLAGS)
    dead = [died("a/flagged", commit="b" * 40), died("a/plain", commit="b" * 40)]
    silent = [row | {"machine": None, "jax_version": None} for row in dead]
    expected = settings(flagged, plain)
    assert settings(plain, flagged, *dead, *silent)[2:] == expected * 2


def test_of_several_settings_in_a_folder_an_unknown_cell_takes_that_of_its_flags(one, died):
    rows = one("a/plain"), one("a/flagged", xla_flags=FLAGS), died("a/new", xla_flags=FLAGS)
    plain, flagged, new = settings(*rows)
    assert new == flagged != plain


def test_the_killed_stay_with_the_machine_of_their_commit(one):
    commits = "a" * 40, "b" * 40
    rows = [
        one("a/b", commit=commits[0], machine="here"),
        one("a/c", commit=commits[1], machine="there"),
        one("a/b", commit=commits[1], ended_well=False, silent=True),
    ]
    here, there, killed = settings(*rows)
    assert killed == there != here


def test_where_several_fit_the_killed_are_of_no_known_setting(one):
    rows = [one("a/b", machine="here"), one("a/c", machine="there")]
    assert settings(*rows, one("a/d", ended_well=False, silent=True))[2] == UNKNOWN


def test_a_machine_has_one_name_before_and_after_it_told_its_device(made_up):
    told = vars(made_up.environment(backend="gpu", device_kind="Example 9"))
    assert machine_name(told) == machine_name(told | BEFORE_JAX)
