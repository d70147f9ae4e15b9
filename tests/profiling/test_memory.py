"""memory: separate processes for each choice, the table, and the Pareto front."""

import json

import pandas as pd
import pytest

from benchmarks.measuring import checkout
from jaxmeter import JaxmeterError, Record


@pytest.fixture(autouse=True)
def same_code(monkeypatch):
    """Keep records valid if vcjax is edited while the tests run."""
    monkeypatch.setattr(checkout, "code_version", lambda: "this")


def test_choices_are_measured_once_and_a_failure_does_not_stop_the_others(memory, tmp_path, capsys):
    command = ["profiled:scoped", "-p", "size=100", "--vary", "chunk=2,50,nonsense"]
    command += ["--repeat", "3", "--out", str(tmp_path)]
    assert memory.main(command) == 1
    table = pd.read_parquet(tmp_path / "memory.parquet")
    rows = {json.loads(row["parameters"])["chunk"]: row for row in table.to_dict("records")}
    assert rows["nonsense"]["status"] == "failed" and rows["nonsense"]["failure"]
    small, large = rows[2], rows[50]
    assert small["temp_bytes"] < large["temp_bytes"]
    assert large["run_peak_bytes"] >= large["temp_bytes"] > 2_000_000
    assert small["is_front"] or small["seconds"] > large["seconds"]
    files = sorted((tmp_path / "cases").rglob("0.json"))
    before = [path.stat().st_mtime_ns for path in files]
    printed = capsys.readouterr().out  # only varied parameters are printed
    assert "chunk=2 " in printed and "chunk=50 " in printed and "size" not in printed
    assert memory.main([*command[:4], "chunk=2,50", *command[5:]]) == 0
    assert capsys.readouterr().err.count(": kept") == 2
    assert before == [path.stat().st_mtime_ns for path in files]


def test_a_function_that_makes_no_case_is_named(memory):
    with pytest.raises(JaxmeterError, match="builtins:dict returned dict; name a function"):
        memory.observed(function="builtins:dict", given="{}")


@pytest.fixture
def cases(memory, monkeypatch):
    """Return a function that returns the names of the cases of a command, without measuring."""
    planned = []

    def measure_plan(cases, store, progress, run_case):
        planned.extend(case.name for case in cases)

    monkeypatch.setattr("benchmarks.measuring.runner.measure_plan", measure_plan)

    def of(*arguments):
        planned.clear()
        memory.main([*arguments, "--out", "out"])
        return list(planned)

    return of


def test_each_option_that_changes_a_record_changes_its_folder(memory, cases, monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "code_digest", lambda *given: "this")
    monkeypatch.chdir(tmp_path)
    (usual,) = cases("profiled:scoped")
    assert usual and [usual] == cases("profiled:scoped", "--rounds", "3")
    others = [
        *cases("profiled:failing"),
        *cases("profiled:scoped", "--repeat", "7"),
        *cases("profiled:scoped", "--vary", "x=-1,1,1.0,true"),
        *cases("profiled:scoped", "-p", f"x={'long' * 100}"),
    ]
    monkeypatch.setattr(memory, "code_digest", lambda *given: "other")
    others += cases("profiled:scoped")
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    others += cases("profiled:scoped")
    assert len({usual, *others}) == 1 + 9
    assert all(0 < len(name) < 100 for name in others)


def test_a_worker_gets_the_settings_of_the_caller(memory, monkeypatch, tmp_path):
    workers = []

    def run_case(case):
        workers.append(case.env)
        return Record(case.name, "failed")

    monkeypatch.setattr(memory, "code_digest", lambda *given: "this")
    monkeypatch.setattr(memory, "run_case", run_case)
    monkeypatch.setenv("JAX_ENABLE_X64", "0")
    monkeypatch.setenv("JAX_ENABLE_COMPILATION_CACHE", "true")
    assert memory.main(["profiled:scoped", "--out", str(tmp_path)]) == 1
    (env,) = workers
    assert (env["JAX_ENABLE_X64"], env["JAX_ENABLE_COMPILATION_CACHE"]) == ("0", "false")


@pytest.mark.parametrize("target", ["mine.py:f", "mine:f"])
def test_a_function_is_measured_again_after_a_change_of_a_module_that_it_imports(
    memory, tmp_path, monkeypatch, target
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = (
        "import atexit, other",
        "other.__file__ = 'absent.py'",  # torch has such modules
        "import used",
        "print('imported')",
        "atexit.register(print, 'x' * 100)",
        "def f(x): return x",
    )
    (tmp_path / "mine.py").write_text("\n".join(lines))
    (tmp_path / "other.py").touch()
    (tmp_path / "used.py").write_text("K = 1\n")
    first = memory.code_digest(target, 100.0)
    assert memory.code_digest(target, float("inf")) == first and len(first) == 64
    (tmp_path / "used.py").write_text("K = 2\n")
    assert memory.code_digest(target, 100.0) != first


@pytest.mark.parametrize(
    ("code", "seconds"), [("1 / 0", 100.0), ("import time; time.sleep(50)", 0.1)]
)
def test_no_record_of_a_function_that_cannot_be_imported_in_time_is_reused(
    memory, tmp_path, code, seconds
):
    (tmp_path / "mine.py").write_text(code)
    target = f"{tmp_path / 'mine.py'}:f"
    assert memory.code_digest(target, seconds) != memory.code_digest(target, seconds)
