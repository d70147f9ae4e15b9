"""The checkout that is measured: commits, their packages, and one run at a time."""

import os
import signal
import subprocess
import sys

import pytest

from benchmarks.measuring.checkout import (
    ROOT,
    CheckoutError,
    commit_named,
    exit_code,
    git,
    name_owner,
    run_lock,
    unpacked_package,
)

needs_git = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git clone")


def test_a_second_run_is_refused_and_the_message_names_the_measuring_process(tmp_path):
    path = tmp_path / "results" / "run.lock"
    with (
        run_lock(path),
        pytest.raises(CheckoutError, match=f"process {os.getpid()} is measuring"),
        run_lock(path),
    ):
        pass
    with run_lock(path):  # the first run has ended
        pass


def test_a_file_in_place_of_a_folder_is_named_without_a_traceback(tmp_path, capsys):
    (tmp_path / "results").touch()
    lock = run_lock(tmp_path / "results" / "run.lock")
    assert exit_code("command", lock.__enter__) == 2
    assert f"command: [Errno 17] File exists: '{tmp_path}/results'" in capsys.readouterr().err


def test_the_lock_lasts_as_long_as_the_process_that_inherited_it(tmp_path):
    path = tmp_path / "run.lock"
    with run_lock(path) as lock:
        command = [sys.executable, "-c", "import time; time.sleep(60)"]
        child = subprocess.Popen(command, pass_fds=(lock,))
        name_owner(lock, child.pid)
    with pytest.raises(CheckoutError, match=f"process {child.pid} is measuring"), run_lock(path):
        pass
    child.kill()
    child.wait()
    with run_lock(path):
        pass


def test_sigterm_interrupts_a_command_and_so_ends_its_workers(capsys):
    before = signal.getsignal(signal.SIGTERM)
    assert exit_code("command", lambda: os.kill(os.getpid(), signal.SIGTERM)) == 130
    assert "command: interrupted; rerun to resume" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) is before


@needs_git
def test_the_package_of_a_commit_is_unpacked_with_its_data_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("TAPE", str(tmp_path / "nowhere"))  # the default archive of GNU tar
    commit = commit_named("HEAD")
    package = unpacked_package(commit, tmp_path / "source")
    listed = git("ls-tree", "-r", "--name-only", commit, "--", "vcjax").decode().splitlines()
    found = {str(p.relative_to(package.parent)) for p in package.rglob("*") if p.is_file()}
    assert found == set(listed)
    assert [p.name for p in package.parent.iterdir()] == ["vcjax"]
