"""The script that makes `.venv`: environments that are up to date, interrupted or impossible."""

import json
import sys

import pytest

from tools import environment


@pytest.fixture
def venv(tmp_path, monkeypatch):
    """Return a folder, the calls that made an environment in it, and the calls of pip."""
    folder = tmp_path / ".venv"
    for name, part in (("PYTHON", "bin/python"), ("INSTALLED", ".installed.json")):
        monkeypatch.setattr(environment, name, str(folder / part))
    monkeypatch.setattr(environment, "INSTALLING", str(folder / ".installing"))
    monkeypatch.setattr(environment, "VENV", str(folder))
    monkeypatch.setattr(environment, "LOCKS", str(tmp_path / "locks"))
    monkeypatch.setattr(environment, "compile_modules", lambda: None)
    made, calls = [], []

    def make_venv(command):
        made.append(command)
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/python").write_text("")
        return 0

    monkeypatch.setattr(environment.subprocess, "call", make_venv)
    monkeypatch.setattr(environment, "run_pip", lambda arguments: calls.append(arguments) or 0)
    return folder, made, calls


def test_an_up_to_date_environment_is_left_alone(venv):
    _, made, calls = venv
    environment.install(["bench", "report"], [])
    environment.install(["report"], [])
    assert len(made) == 1
    assert calls == [["-e", "jaxmeter", "-e", ".[bench,report]"]]


def test_a_further_extra_is_added_and_the_others_kept(venv):
    _, made, calls = venv
    environment.install(["report"], [])
    environment.install(["test"], ["reference"])
    assert len(made) == 1
    assert calls[1][-1] == ".[report,test]"
    assert calls[2][-1].startswith("virtual-casing") and ":all:" in calls[2]


def test_installed_modules_are_compiled_without_their_tests(tmp_path, monkeypatch):
    packages = tmp_path / "lib" / "site-packages"
    (packages / "a" / "tests").mkdir(parents=True)
    for name, text in (("a/b.py", "x = 1"), ("a/tests/c.py", "x = 1"), ("other.py", "not: Python")):
        (packages / name).write_text(text)
    monkeypatch.setattr(environment, "VENV", str(tmp_path))
    monkeypatch.setattr(environment, "PYTHON", sys.executable)
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    environment.compile_modules()
    (compiled,) = tmp_path.rglob("*.pyc")
    assert compiled.name.startswith("b.")


def test_an_interrupted_installation_starts_over(venv, monkeypatch):
    folder, made, _ = venv

    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(environment, "run_pip", interrupted)
    with pytest.raises(KeyboardInterrupt):
        environment.install(["report"], [])
    (folder / "half a package").write_text("")
    monkeypatch.setattr(environment, "run_pip", lambda arguments: 0)
    environment.install(["report"], [])
    assert len(made) == 2
    assert not (folder / "half a package").exists()
    assert not (folder / ".installing").exists()


def lock(venv, monkeypatch, *versions):
    monkeypatch.setattr(environment.sys, "version_info", (3, 11, 7))
    locks = venv[0].parent / "locks"
    locks.mkdir(exist_ok=True)
    for version in versions:
        (locks / f"py3.11-jax{version}.txt").write_text(f"jax=={version}\n")
    return locks


def test_the_newest_lock_file_pins_the_versions_and_a_named_jax_takes_its_own(venv, monkeypatch):
    locks = lock(venv, monkeypatch, "0.7.2", "0.10.2")
    environment.install(["report"], [])
    assert venv[2][-1][:2] == ["-c", str(locks / "py3.11-jax0.10.2.txt")]
    environment.install(["report"], [], "0.7.2")
    assert venv[2][-1][:2] == ["-c", str(locks / "py3.11-jax0.7.2.txt")]
    environment.install(["report"], [], "0.8.0")  # no lock file: only JAX is pinned
    assert venv[2][-1][0] == "jax==0.8.0"


@pytest.mark.parametrize("changed", ["settings", "lock file"])
def test_changed_settings_or_lock_files_make_the_environment_again(changed, venv, monkeypatch):
    locks = lock(venv, monkeypatch, "0.10.2")
    environment.install(["report"], [])
    if changed == "settings":
        installed = venv[0] / ".installed.json"
        state = json.loads(installed.read_text())
        installed.write_text(json.dumps({**state, "fingerprint": "other"}))
    else:
        (locks / "py3.11-jax0.10.2.txt").write_text("jax==0.10.2\nnumpy==2.0.0\n")
    environment.install(["report"], [])
    assert len(venv[1]) == 2


def test_a_lock_file_is_named_by_python_and_jax(venv, monkeypatch):
    locks = lock(venv, monkeypatch)
    monkeypatch.setattr(
        environment.subprocess, "check_output", lambda *a, **k: "jax==0.10.2\nnumpy==2.4.1\n"
    )
    assert environment.write_lock() == str(locks / "py3.11-jax0.10.2.txt")
    monkeypatch.setattr(environment.subprocess, "check_output", lambda *a, **k: "numpy==2.4.1\n")
    with pytest.raises(environment.EnvironmentProblem, match="contains no JAX; run make lock"):
        environment.write_lock()


def test_packages_on_pythonpath_do_not_count_as_installed(tmp_path, monkeypatch):
    information = tmp_path / "elsewhere-1.dist-info" / "METADATA"
    information.parent.mkdir()
    information.write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(environment, "PYTHON", sys.executable)
    assert environment.run_pip(["--dry-run", "--no-index", "elsewhere"]) != 0


def test_a_failing_pip_is_reported_and_the_environment_stays_marked_unfinished(venv, monkeypatch):
    folder, _, _ = venv
    monkeypatch.setattr(environment, "run_pip", lambda arguments: 1)
    with pytest.raises(environment.EnvironmentProblem, match=r"could not install \.\[report\]"):
        environment.install(["report"], [])
    assert (folder / ".installing").exists() and not (folder / ".installed.json").exists()


def test_an_optional_extra_that_cannot_be_installed_is_only_reported(venv, monkeypatch, capsys):
    monkeypatch.setattr(environment, "run_pip", lambda arguments: "virtual-casing" in arguments[-1])
    environment.install(["test"], ["reference"])
    assert "the optional extra 'reference' was not installed" in capsys.readouterr().out


def test_an_extra_that_pyproject_does_not_have_is_an_error_with_advice(venv):
    with pytest.raises(environment.EnvironmentProblem, match="no extra 'refrence'; give one of"):
        environment.install(["test"], ["refrence"])


def test_an_old_python_and_a_python_without_ensurepip_are_refused_with_advice(monkeypatch):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(environment.EnvironmentProblem, match="'ensurepip'.*python3-venv"):
        environment.check_interpreter()
    monkeypatch.setattr(environment.sys, "version_info", (3, 9, 2))
    with pytest.raises(environment.EnvironmentProblem, match=r"Python 3\.9\.2.*PYTHON=python3\.11"):
        environment.check_interpreter()
