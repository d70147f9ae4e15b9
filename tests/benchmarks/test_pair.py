"""Two commits, interleaved: order, budget, resuming, and the package that a worker imports."""

import itertools
from types import SimpleNamespace

import pytest

import jaxmeter
from benchmarks.measuring import pair, program_diff, rounds
from benchmarks.measuring.checkout import CheckoutError
from benchmarks.measuring.pair import chosen_cases, sides
from jaxmeter import Inventory, Program, Record
from tests.benchmarks.common import Worker, commit_of, planned, side_in, unpacked, write_record

CASES = [planned("suite/a", 3), planned("suite/b", 1)]
COMMITS = ("b" * 40, "d" * 40)


@pytest.fixture
def worker():
    """Return a worker that collects the first letter of the commit and the name of each case."""
    return Worker(see=lambda case: (commit_of(case)[0], case.name))


@pytest.fixture
def measure(worker, tmp_path, monkeypatch):
    def run(*injected, budget=1e9, clock=lambda: 0.0):
        monkeypatch.setattr(pair, "unpacked_package", unpacked)
        with sides(
            COMMITS, tmp_path / "out", regressions=injected or [pair.NOT_INJECTED], run_case=worker
        ) as both:
            costs = rounds.measure_first_round(CASES, both)
            rounds.measure_interleaved(CASES, both, costs, budget_seconds=budget, clock=clock)
        return worker.calls

    return run


def test_the_commit_that_is_measured_first_alternates_between_rounds(measure):
    assert [f"{side} {name}" for side, name in measure()] == [
        *("b suite/a", "d suite/a", "b suite/b", "d suite/b"),
        *("d suite/a", "b suite/a", "b suite/a", "d suite/a"),
    ]


def test_each_commit_has_its_own_store(measure, tmp_path):
    measure()
    for side, commit in zip(("base", "head"), COMMITS, strict=True):
        (folder,) = (tmp_path / "out" / side).iterdir()
        assert folder.name == commit
        assert len(list(folder.rglob("*.json"))) == 4


def test_a_folder_with_records_of_other_commits_is_refused_before_measuring(
    measure, tmp_path, monkeypatch
):
    measure().clear()
    (tmp_path / "out" / "base" / ".DS_Store").touch()  # a file is no folder of records
    measure().clear()
    monkeypatch.setitem(globals(), "COMMITS", ("b" * 40, "e" * 40))
    with pytest.raises(
        CheckoutError, match="out has records of ddd.* give another folder as --out"
    ):
        measure()


def test_whole_rounds_are_kept_and_half_a_round_is_measured_again_on_both_sides(measure, tmp_path):
    measure().clear()
    next((tmp_path / "out" / "base").rglob("suite/a/1.json")).unlink()
    assert sorted(measure()) == [("b", "suite/a"), ("d", "suite/a")]


def test_failed_rounds_are_measured_again(measure, worker):
    worker.status = "failed"
    assert len(measure()) == 8
    worker.status = "ok"
    assert len(measure()) == 16
    assert len(measure()) == 16


def test_enough_rounds_compile_first_and_the_others_are_spread_among_cached_rounds():
    assert rounds.round_order([planned("suite/a", 10, builds=5)]) == [1, 2, 5, 6, 3, 7, 8, 4, 9]
    assert rounds.round_order([planned("suite/a", 5, builds=2)]) == [1, 2, 3, 4]
    assert rounds.round_order([planned("suite/a", 3), planned("suite/b", 2)]) == [1, 2]


def test_the_first_case_and_cases_with_time_for_three_rounds_are_kept(tmp_path):
    for builds, seconds in ((4, 20.0), (1, 10.0)):
        case = planned("suite/a", 12, builds=builds)
        measured = [side_in(tmp_path)]
        assert rounds.seconds_to_test(case, {case.name: 10.0}, measured) == seconds
    needed = dict.fromkeys("abc", 20.0)
    counts = [len(rounds.affordable(needed, left, "case")) for left in (-5, 0, 39, 40, 60)]
    assert counts == [1, 1, 1, 2, 3]
    assert len(rounds.affordable(dict.fromkeys("abc", 0.0), -5, "case")) == 3


def test_a_budget_that_is_too_small_is_reported_with_the_needed_time(
    measure, worker, capsys, monkeypatch
):
    worker.wall_seconds = 5.0
    monkeypatch.setitem(globals(), "CASES", [planned("suite/a", 3), planned("suite/b", 3)])
    ticks = itertools.count(step=10)
    calls = measure(budget=20, clock=lambda: float(next(ticks)))
    assert len(calls) == 6, "the first round of both cases, and the second of suite/a"
    out = capsys.readouterr().out
    assert "the budget of 20 s is spent" in out
    assert "3 rounds of every case take about 40 s more, but 20 s are left" in out
    assert "The times of suite/b will not be judged; increase --budget by 40 s" in out


def test_a_rerun_with_a_small_budget_names_no_case_whose_rounds_are_stored(
    measure, worker, capsys, monkeypatch
):
    worker.wall_seconds = 5.0
    monkeypatch.setitem(globals(), "CASES", [planned("suite/a", 3), planned("suite/b", 3)])
    calls_count = len(measure())
    assert len(measure(budget=1)) == calls_count
    assert "will not be judged" not in capsys.readouterr().out


def test_cases_with_changed_programs_come_first(tmp_path):
    cases, order = [planned("suite/same", 2), planned("suite/changed", 2)], []

    def measure(case, number):
        order.append(case.name)
        return Record(case.name, "ok", target=case.target)

    both = [side_in(tmp_path, name, SimpleNamespace(measure=measure)) for name in ("base", "head")]
    for side, text in itertools.product(both, ("same", "changed")):
        program = Program(hlo_fingerprint=side.name if text == "changed" else text)
        write_record(side.store, planned(f"suite/{text}", 2), program=program)
    costs = {case.name: 1.0 for case in cases}
    rounds.measure_interleaved(cases, both, costs, budget_seconds=1e9, load=lambda: 0.0)
    assert order == ["suite/changed"] * 2 + ["suite/same"] * 2


def test_the_seconds_of_a_round_are_the_sum_over_both_sides(tmp_path):
    case = planned("suite/a", 3)
    both = [side_in(tmp_path, name) for name in "bh"]
    for side, seconds in zip(both, (2.0, 3.0), strict=True):
        write_record(side.store, case, wall_seconds=seconds)
    assert rounds.measure_first_round([case], both) == {"suite/a": 5.0}


def test_a_busy_machine_gets_one_round_and_its_load_is_named(worker, tmp_path, capsys):
    both = [side_in(tmp_path, name, worker) for name in ("base", "head")]
    worker.measure = lambda case, number: Record(case.name, "ok", target=case.target)
    costs = rounds.measure_first_round(CASES, both)
    rounds.measure_interleaved(
        CASES, both, costs, budget_seconds=1e9, max_load=4.0, load=lambda: 7.8
    )
    assert "times are not judged: the load 7.8 is above 4.0" in capsys.readouterr().out
    assert len(list(tmp_path.rglob("*.json"))) == 4
    rounds.measure_interleaved(
        CASES, both, costs, budget_seconds=1e9, max_load=4.0, load=lambda: 3.9
    )
    assert len(list(tmp_path.rglob("*.json"))) == 8


def test_the_default_cases_exist_and_a_pattern_without_a_case_is_refused():
    cases = chosen_cases(None, 7)
    assert [case.rounds for case in cases] == [7] * len(pair.TIMED)
    assert {(case.repeat, case.compiles) for case in cases} == {(30, 3)}
    assert {case.rounds for case in chosen_cases(["memory_sweep/*"], 2)} == {2}
    with pytest.raises(CheckoutError, match="got --cases nothing/\\*.*e.g. casing_variants"):
        chosen_cases(["nothing/*"], 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rounds", "-2"], "got --rounds -2; give 1 or more"),
        (["--budget", "nan"], "got --budget nan; give a number of seconds above 0"),
        (["--inject", "none", "none"], "got --inject none none; give each regression once"),
    ],
)
def test_rounds_budgets_and_regressions_without_a_meaning_are_refused(options, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        pair.main(["HEAD", "HEAD", *options])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("injected", ["captured_array", "elsewhere/captured_array.py"])
def test_a_regression_is_injected_into_head_alone_and_names_its_records(
    measure, injected, tmp_path, monkeypatch
):
    calls = []
    monkeypatch.setattr(pair, "inject", lambda *arguments: calls.append(arguments))
    measure(injected)
    ((name, package),) = calls
    place = ("head", "captured_array", "source", "vcjax")
    assert name == injected and package.parts[-4:] == place
    (folder,) = (tmp_path / "out" / "head").iterdir()
    assert folder.name == COMMITS[1] + "+captured_array"


def test_several_heads_share_the_processes_of_base_and_each_is_a_pair_of_its_own(
    measure, tmp_path, monkeypatch
):
    monkeypatch.setattr(pair, "inject", lambda name, package: None)
    calls = measure("none", "retrace")
    assert calls[:3] == [("b", "suite/a"), ("d", "suite/a"), ("d", "suite/a")]
    assert calls[6:9] == [("d", "suite/a"), ("d", "suite/a"), ("b", "suite/a")]
    assert len(calls) == 12
    for name, commit in (("none", COMMITS[1]), ("retrace", COMMITS[1] + "+retrace")):
        (head,) = (tmp_path / "out" / name / "head").iterdir()
        assert head.name == commit
        (base,) = (tmp_path / "out" / name / "base").iterdir()
        assert len(list(base.rglob("*.json"))) == len(list(head.rglob("*.json"))) == 4
    assert len(measure("none", "retrace")) == 12


def test_programs_that_differ_are_described_once(worker, tmp_path, monkeypatch):
    both = side_in(tmp_path, "base", worker), side_in(tmp_path, "head", worker)
    worker.worker_case = lambda planned: planned
    for case, fingerprints in zip(CASES, [("x", "y"), ("x", "x")], strict=True):
        for side, fingerprint in zip(both, fingerprints, strict=True):
            write_record(side.store, case, program=Program(hlo_fingerprint=fingerprint))
    asked = []

    def inventory(case, path):
        asked.append(path.name)
        return Inventory(name=path.name, jax="0.10.2")

    monkeypatch.setattr(program_diff, "inventory", inventory)
    for _ in range(2):
        program_diff.write_diffs(CASES, both, tmp_path / "out")
    assert asked == ["a.base.json", "a.head.json"]
    assert "a.head.json" in (tmp_path / "out" / "programs" / "suite" / "a.txt").read_text()
    monkeypatch.setattr(program_diff, "inventory", lambda case, path: None)
    program_diff.write_diffs(CASES, both, tmp_path / "elsewhere")
    assert not list((tmp_path / "elsewhere").rglob("*.txt"))


def test_a_program_that_cannot_be_described_is_reported_and_stops_nothing(tmp_path, capsys):
    case = jaxmeter.BenchmarkCase(name="suite/a", target="no_such_module:f", timeout_seconds=60)
    assert program_diff.inventory(case, tmp_path / "suite" / "a.json") is None
    assert "cannot compile the program of suite/a: " in capsys.readouterr().out


@pytest.mark.parametrize("injected", ["nothing", "nothing.py", "__init__"])
def test_a_regression_without_a_file_is_refused_with_the_known_names(injected, tmp_path):
    message = f"got --inject {injected}, which .*, or one of captured_array, chunk_size"
    with pytest.raises(CheckoutError, match=message):
        pair.inject(injected, tmp_path)


def test_an_unknown_commit_ends_the_command_with_its_name(capsys):
    assert pair.main(["no-such-commit", "HEAD"]) == 2
    error = capsys.readouterr().err
    assert "no-such-commit" in error and "git clone" in error
