"""The closure study: its plan, the cases that need too much memory, and the picture."""

import io
from pathlib import Path

import jax
import numpy as np
import pytest
from PIL import Image

import jaxmeter
from benchmarks import closure
from benchmarks.workloads import coronagraph
from studies.__main__ import main
from studies.closure import break_even, study
from studies.closure.memory import needed_by, needs, system_bytes, within_memory
from studies.closure.pictures import png
from studies.harness import ROOT

GRIDS = ("versions", "quick", "full")


def test_the_quick_grid_has_enough_processes_for_the_variants_that_it_compares():
    rounds = {case.name: case.rounds for case in study.plan("quick")}
    for size in (64, 128):
        for variant in closure.VARIANTS:
            count = rounds[f"coronagraph_variants/n{size}-{variant}"]
            assert count >= (6 if variant in study.CLOSELY[size] else 1)
    assert set(study.CLOSELY[128]) >= {"closure", "argument", "simplified", "hoisted"}


def test_each_grid_contains_the_smaller_grid_and_only_the_full_grid_has_large_sizes():
    versions, quick, full = ([case.name for case in study.plan(grid)] for grid in GRIDS)
    assert set(versions) < set(quick) < set(full) and len(set(full)) == len(full)
    assert len(versions) == 6  # closure, argument and simplified at both sizes
    assert {case.rounds for case in study.plan("versions")} == {closure.ROUNDS}
    large = [f"coronagraph_variants/n{n}-{v}" for n in (192, 256) for v in study.VERSION_VARIANTS]
    assert set(large) <= set(full) and not any("n192" in name or "n256" in name for name in quick)


def test_the_casing_is_measured_in_every_variant_and_separately_from_the_coronagraph():
    cases = study.casing_plan("quick")
    assert [case.params["variant"] for case in cases] == list(closure.VARIANTS)
    assert all(case.preparation is not None and case.rounds >= 1 for case in cases)
    assert "vcjax" in study.CASING_MEASURED and "vcjax" not in study.MEASURED
    assert study.casing_plan("versions") == []


def test_records_depend_on_existing_files_but_not_on_plans_estimates_or_pictures():
    for path in (*study.MEASURED, *study.CASING_MEASURED):
        assert (ROOT / path).exists(), path
    assert not {"study", "memory", "pictures"} & {Path(path).stem for path in study.CASES}


def test_the_curves_of_none_and_exp_go_from_a_kilobyte_to_a_gigabyte():
    cases = break_even.cases(rounds=1)
    closed = [c.params for c in cases if c.params["variant"] == "closure"]
    for operation in ("none", "exp"):
        sizes = [int(str(p["array_bytes"])) for p in closed if p["operation"] == operation]
        assert min(sizes) == 1e3 and max(sizes) == 1e9
    assert {p["operation"] for p in closed} == {"none", "exp", "cumsum"}


@pytest.mark.parametrize("operation", break_even.OPERATIONS)
def test_both_ways_of_the_curve_give_the_same_sum(operation):
    made = []
    for variant in break_even.WAYS:
        case = break_even.scaled_sum(operation=operation, variant=variant, array_bytes=4000)
        made.append(jax.jit(case.fn)(*case.args))
    np.testing.assert_allclose(made[0], made[1], rtol=1e-5)


def test_the_bytes_of_a_system_are_estimated():
    system = coronagraph.system(16)
    actual = sum(leaf.nbytes for leaf in jax.tree.leaves(system))
    assert system_bytes(16) == pytest.approx(actual, rel=1e-2)
    # Published: 4.36 GB for the cube of 256 pixels alone.
    assert 4.36e9 < system_bytes(256) < 4.6e9
    assert needed_by("closure", system_bytes(256)) > needed_by("argument", system_bytes(256)) > 5e9


def test_the_memory_of_every_case_and_preparation_is_estimated():
    cases = study.plan("full")
    needed = needs(cases)
    names = {case.name for case in cases}
    names |= {case.preparation.name for case in cases if case.preparation is not None}
    assert set(needed) == names and min(needed.values()) > 1e8


def test_a_case_that_would_not_fit_is_skipped_with_the_memory_it_needs():
    ran = []

    def run_case(case):
        ran.append(case.name)
        return jaxmeter.Record(name=case.name, status="ok")

    run = within_memory({"large": 27.3e9, "small": 1e9}, run_case, lambda: 9.5e9)
    record = run(jaxmeter.BenchmarkCase("large", "package:target", {"size": 256}))
    assert record.status == "skipped" and record.failure is not None
    assert record.failure.message == (
        "needs 27.3 GB of memory, but 9.5 GB are available; "
        "close other programs, or use a smaller grid"
    )
    assert dict(record.params) == {"size": 256} and record.target == "package:target"
    fitting = [jaxmeter.BenchmarkCase(name, "package:target") for name in ("small", "unknown")]
    assert [run(case).status for case in fitting] == ["ok", "ok"]
    assert ran == ["small", "unknown"]
    # Without a function, the memory of this machine is read.
    needed = {"small": 1e3, "unknown": 1e18}
    statuses = [within_memory(needed, run_case)(case).status for case in fitting]
    assert statuses == ["ok", "skipped"]


def test_a_picture_is_a_png_of_its_levels():
    levels = np.array([[0, 255, 7], [3, 4, 5]], np.uint8)
    image = Image.open(io.BytesIO(png(levels)))
    assert (image.format, image.mode) == ("PNG", "P")
    np.testing.assert_array_equal(np.asarray(image), levels)  # Pillow also checks the checksums
    assert len(image.getpalette() or ()) == 3 * 256


def test_results_that_cannot_be_written_are_one_line_and_exit_code_2(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["closure", "--grid", "versions", "--out", str(tmp_path / "file")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("studies closure: ") and error.count("\n") == 1


@pytest.mark.parametrize(
    "statuses, code", [(("ok", "skipped"), 0), (("ok", "timeout"), 1), (("failed",), 1)]
)
def test_the_exit_code_is_1_if_a_process_failed(statuses, code, tmp_path, monkeypatch):
    records = [jaxmeter.Record(name="a case", status=status) for status in statuses]
    monkeypatch.setattr(study, "measure_plan", lambda cases, store, **_: {"a case": records})
    assert main(["closure", "--grid", "versions", "--out", str(tmp_path)]) == code
