"""The command behind make bench and make commits: the commit, its package, its store."""

import pytest

from benchmarks.measuring import run
from benchmarks.measuring.checkout import ROOT, CheckoutError
from benchmarks.measuring.store import environment_name
from tests.benchmarks.common import Worker, commit_of, unpacked

COMMIT = "c" * 40


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Replace the package of the commit by one file; return the folder that contains the store."""
    monkeypatch.setenv("VCJAX_BENCH_STORE", str(tmp_path / "records"))
    monkeypatch.setattr(run, "commit_named", lambda name: COMMIT)
    monkeypatch.setattr(run, "has_changes", lambda *paths: True)
    monkeypatch.setattr(run, "unpacked_package", unpacked)
    monkeypatch.setattr(run, "run_lock", lambda: open(tmp_path / "lock", "w"))
    return tmp_path


class CommitWorker(Worker):
    """A worker that fails the cases named gradient."""

    def status_of(self, case):
        return "timeout" if "gradient" in case.name else "ok"


@pytest.fixture
def worker():
    return CommitWorker(see=lambda case: (commit_of(case), case.name))


def test_the_package_of_the_commit_is_measured_into_its_own_store(checkout, worker, capsys):
    run.measure_head("small", worker)
    (commit,) = (checkout / "records").iterdir()
    (environment,) = commit.iterdir()
    assert (commit.name, environment.name) == (COMMIT, environment_name())
    assert len(list(environment.rglob("*.json"))) == len(worker.calls)
    assert {commit for commit, _ in worker.calls} == {COMMIT}
    out = capsys.readouterr().out
    assert out.startswith(f"measuring vcjax at commit {COMMIT[:10]} in {environment.name}, small")
    assert "uncommitted changes of vcjax are not measured" in out
    assert out.splitlines()[-1] == "memory_sweep/gradient-cauto-tauto: timeout: too slow"


def test_a_range_without_commits_or_with_an_unknown_name_is_refused(capsys):
    if not (ROOT / ".git").exists():
        pytest.skip("not a git clone")
    assert run.main(["--commits", "no-such-commit..HEAD"]) == 2
    assert "no-such-commit" in capsys.readouterr().err
    with pytest.raises(CheckoutError, match="'HEAD..HEAD', which contains no commit"):
        run.measure_range("small", "HEAD..HEAD")


@pytest.mark.parametrize("text", ["--output=x", "'--output=x'", "HEAD --output=x", "a\\b", ""])
def test_a_range_that_asv_would_split_or_read_as_an_option_is_refused(monkeypatch, text):
    monkeypatch.setattr(run, "git", lambda *arguments: b"1\n")  # as if git knew such a branch
    with pytest.raises(CheckoutError, match="is not a range"):
        run.measure_range("small", text)


@pytest.mark.parametrize(("asv_code", "code"), [(0, 0), (run.ASV_FOUND_FAILURES, 0), (1, 1)])
def test_a_range_is_an_asv_run_that_may_have_failed_cases(
    tmp_path, monkeypatch, capfd, asv_code, code
):
    script = tmp_path / "asv.py"
    script.write_text(
        "import os, sys\n"
        "print(os.environ['VCJAX_BENCH_GRID'], *sys.argv[1:], flush=True)\n"
        f"sys.exit({asv_code} if sys.argv[1] == 'run' else 0)\n"
    )
    monkeypatch.setenv("VCJAX_BENCH_GRID", "full")
    monkeypatch.setattr(run, "ASV", (*run.ASV[:1], str(script)))
    monkeypatch.setattr(run, "git", lambda *arguments: b"10\n")
    monkeypatch.setattr(run, "repair_asv_folder", lambda folder: None)
    lock = run.run_lock
    monkeypatch.setattr(run, "run_lock", lambda: lock(tmp_path / "run.lock"))
    assert run.measure_range("small", "HEAD~10..HEAD") == code
    printed = capfd.readouterr().out.splitlines()
    # asv reads only the suites that have cases in the grid.
    bench = r"--bench \b(CasingVariants|MemorySweep)\."
    assert printed == [f"small run {bench} --show-stderr --record-samples HEAD~10..HEAD"]


def test_results_that_a_killed_asv_cut_short_are_renamed_and_its_git_locks_removed(tmp_path):
    whole, torn = tmp_path / "results/m/whole.json", tmp_path / "results/m/torn.json"
    git_lock = tmp_path / "env/abc/project/.git/index.lock"
    for path, text in ((whole, "{}"), (torn, '{"a": '), (git_lock, "")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run.repair_asv_folder(tmp_path)
    assert whole.exists() and not torn.exists() and not git_lock.exists()
    assert torn.with_suffix(".unreadable").exists()
    run.repair_asv_folder(tmp_path / "nothing")
