"""The command behind make bench and make commits: what it asks asv for."""

import json
import subprocess

import pytest

from benchmarks.measuring import run
from benchmarks.measuring.run import ROOT, RunFailed, chosen_run

CONFIG = """{
    // asv's files have comments
    "version": 1,
    "matrix": {"req": {"jax": ["0.7.2", "0.10.2"], "numpy": [""]}}
}"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "asv.conf.json"
    path.write_text(CONFIG)
    return path


def test_the_checked_out_commit_is_measured_in_the_last_version_alone(config):
    chosen = chosen_run("quick", None, config)
    assert (chosen.commits, chosen.times_count) == ("HEAD^!", 1)
    assert chosen.config.parent == config.parent
    requirements = json.loads(chosen.config.read_text())["matrix"]["req"]
    assert requirements == {"jax": ["0.10.2"], "numpy": [""]}


def test_a_range_is_measured_in_every_version(config, monkeypatch):
    monkeypatch.setattr(run, "_git", lambda *arguments: "10")
    chosen = chosen_run("small", "HEAD~10..HEAD", config)
    assert (chosen.config, chosen.times_count) == (config, 20)
    monkeypatch.setattr(run, "_git", lambda *arguments: "0")
    with pytest.raises(RunFailed, match="'HEAD..HEAD' holds no commit"):
        chosen_run("small", "HEAD..HEAD", config)


def test_a_range_that_git_does_not_know_is_told_by_name():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git clone")
    with pytest.raises(RunFailed, match="no-such-commit"):
        chosen_run("small", "no-such-commit..HEAD")


def test_asv_reads_only_suites_that_the_grid_measures(config, monkeypatch, tmp_path):
    commands = []
    monkeypatch.setattr(subprocess, "Popen", lambda c, **_: commands.append(c) or _Started())
    monkeypatch.setattr(run.RunLock, "name_owner", lambda *_: None)
    lock = run.RunLock(tmp_path / "lock")
    run.start_asv(chosen_run("small", None, config), tmp_path / "progress", None, lock)
    (command,) = commands
    assert command[command.index("--bench") + 1] == r"\b(CasingVariants|MemorySweep)\."


class _Started:
    pid = 1
