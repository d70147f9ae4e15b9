"""One run at a time; what a killed one leaves is cleared away."""

import os
import subprocess
import sys

import pytest

from benchmarks.measuring.repair import AnotherRun, RunLock, end_process_tree, repair_asv_folder


def sleeper(lock):
    """Stands in for an asv that inherited the lock."""
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    return subprocess.Popen(command, pass_fds=(lock.descriptor,))


def test_a_second_run_is_refused_and_told_which_process_measures(tmp_path):
    with (
        RunLock(tmp_path / "run.lock"),
        pytest.raises(AnotherRun, match=f"process {os.getpid()} is measuring"),
        RunLock(tmp_path / "run.lock"),
    ):
        pass


def test_the_lock_is_free_again_after_a_run(tmp_path):
    for _ in range(2):
        with RunLock(tmp_path / "run.lock"):
            pass


def test_an_asv_left_over_by_a_killed_run_is_ended_and_the_lock_taken_over(tmp_path, capsys):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with RunLock(tmp_path / "run.lock") as lock:
        asv = sleeper(lock)
        lock._write({"run": gone.pid, "asv": asv.pid})
    with RunLock(tmp_path / "run.lock"):
        assert asv.poll() is not None
    assert "ending it" in capsys.readouterr().out


def test_ending_a_process_ends_what_it_started(tmp_path):
    mark = tmp_path / "pid"
    inner = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    outer = subprocess.Popen([sys.executable, "-c", code])
    while not (mark.exists() and mark.read_text()):
        assert outer.poll() is None
    end_process_tree(outer.pid)
    outer.wait(timeout=10)
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)
    end_process_tree(outer.pid)  # a process that is gone already is no error


def test_torn_results_are_set_aside_and_stale_git_locks_removed(tmp_path):
    whole, torn = tmp_path / "results/m/whole.json", tmp_path / "results/m/torn.json"
    git_lock = tmp_path / "env/abc/project/.git/index.lock"
    for path, text in ((whole, "{}"), (torn, '{"a": '), (git_lock, "")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    repair_asv_folder(tmp_path)
    assert whole.exists() and not torn.exists() and not git_lock.exists()
    assert torn.with_suffix(".unreadable").exists()


def test_a_fresh_clone_needs_no_repair(tmp_path):
    repair_asv_folder(tmp_path / "nothing")
