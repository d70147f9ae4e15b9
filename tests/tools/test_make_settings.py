"""Settings of `make` remain text: no shell, make, git or pip interprets them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import environment

MAKEFILE = Path(__file__).resolve().parents[2] / "Makefile"
CANARY = "canary"
HOSTILE = (
    "$(shell touch canary)",
    "$$(touch canary)",
    "`touch canary`",
    "; touch canary",
    '"; touch canary; "',
    "' ; touch canary ; '",
    "--output=canary",
    "$(error stop)",
)
# The targets whose recipes read the settings.
TARGETS = ("review", "bisect", "commits", "bench", "env-test")
OPTIONS = {"JAX": "--jax=", "COMMITS": "--commits=", "GRID": "--grid=", "EXTRAS": "--also="}
# Variables that are not settings, and a name that nothing uses; make exports these too.
OTHERS = ("RUN", "STORE", "SETTINGS", "as_text", "name", "MAKEFILE_LIST", "ANYTHING")


@pytest.fixture
def checkout(tmp_path):
    """Return a folder with the Makefile and with interpreters that only write their arguments."""
    shutil.copy(MAKEFILE, tmp_path)
    stub = tmp_path / "python3"
    stub.write_text('#!/bin/sh\nprintf "%s\\0" "$@" >> arguments\n')
    stub.chmod(0o755)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    shutil.copy(stub, tmp_path / ".venv/bin/python")
    return tmp_path


def make(checkout, *arguments, **variables):
    path = f"{checkout}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["make", *arguments],
        cwd=checkout,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )
    written = checkout / "arguments"
    return done, written.read_text().split("\0") if written.exists() else []


@pytest.mark.parametrize("value", HOSTILE)
def test_each_assigned_or_exported_setting_arrives_as_one_argument(checkout, value):
    given = {name: f"{value} {name}" for name in ("METRIC", "CASE", "BASE", "HEAD", *OPTIONS)}
    assignments = [f"{name}={text}" for name, text in given.items()]
    for arguments, variables in ((assignments, {}), ([], given)):
        done, passed = make(checkout, *TARGETS, *arguments, **variables)
        assert done.returncode == 0, done.stderr
        assert not (checkout / CANARY).exists()
        options = {text for text in passed if text.startswith(tuple(OPTIONS.values()))}
        assert options == {option + given[name] for name, option in OPTIONS.items()}
        commits = [given["BASE"], given["HEAD"]]
        review = passed.index("tools.review") + 1
        assert passed[review : review + 3] == ["--", *commits]
        bisect = passed.index("benchmarks.measuring.bisect") + 1
        assert passed[bisect : bisect + 5] == ["--", given["METRIC"], given["CASE"], *commits]
        (checkout / "arguments").unlink()


@pytest.mark.parametrize("value", HOSTILE)
def test_other_variables_and_the_interpreter_run_nothing_either(checkout, value):
    others = [f"{name}={value}" for name in OTHERS]
    done, passed = make(checkout, "help", "page", "commits", *others)
    assert done.returncode == 0, done.stderr
    assert not (checkout / CANARY).exists() and not any(CANARY in text for text in passed)
    done, _ = make(checkout, "review", f"PYTHON={value}")
    assert done.returncode != 0 and not (checkout / CANARY).exists()


def test_settings_have_their_defaults(checkout):
    _, passed = make(checkout, "review", "JAX=0.7.2")
    assert passed == [
        *("tools/environment.py", "bench", "report", "--optional", "reference", "--jax=0.7.2"),
        *("-m", "tools.review", "--", "HEAD~1", "HEAD", ""),
    ]


@pytest.mark.parametrize(
    ("extras", "jax"),
    [
        (["x] @ file:///tmp/evil"], None),
        (["--index-url=evil"], None),
        ([], "0.7.2 --index-url=evil"),
        ([], "--index-url=evil"),
        ([], "../0.7.2"),
    ],
)
def test_pip_gets_extras_and_a_version_only(monkeypatch, extras, jax):
    monkeypatch.setattr(environment, "run_pip", lambda arguments: pytest.fail(str(arguments)))
    with pytest.raises(
        environment.EnvironmentProblem, match="cannot be the name of an extra|is not a version"
    ):
        environment.install(extras, [], jax)


def test_make_situations_leaves_the_committed_rows_as_they_are(checkout):
    done, arguments = make(checkout, "situations")
    assert done.returncode == 0, done.stderr
    assert arguments[arguments.index("--out") + 1] == "results/situations"


def test_make_clean_removes_the_build_folders_of_both_packages(checkout):
    for folder in ("build/lib", "jaxmeter/build/lib"):
        (checkout / folder).mkdir(parents=True)
    done, _ = make(checkout, "clean")
    assert done.returncode == 0, done.stderr
    assert not (checkout / "build").exists()
    assert not (checkout / "jaxmeter/build").exists()
