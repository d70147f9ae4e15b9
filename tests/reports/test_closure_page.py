"""The closure report: its sentences, tables and figures follow from made-up records."""

import dataclasses
import math
import shutil

import pandas as pd
import pytest

from jaxmeter import Audit, AuditedArray, Failure, Record, Use
from reports import ReportError, quantities, write_report
from reports.__main__ import main
from reports.closure import figures, summaries, versions
from reports.closure.page import make_closure_report
from tests.reports import made_up

CUBE = 277_000_000
CAPTURED = {
    "closure": CUBE + 160,
    "argument": 160,
    "cached": 131_232,
    "simplified": CUBE + 160,
    "hoisted": 32,
    "static_callable": 29_642_000 + 160,
}
MILLISECONDS_PER_MEGABYTE = 15.0
PNG = b"\x89PNG\r\n\x1a\n"


def frame(variant, size, i, **changes):
    embedded = CAPTURED[variant] if variant != "simplified" else 404
    params = {"size": size, "variant": variant}
    values = {
        "compile_seconds": 3.0 + MILLISECONDS_PER_MEGABYTE * 1e-9 * embedded,
        "steady_seconds": 0.03,
        "captured_bytes": CAPTURED[variant],
        "embedded_bytes": embedded,
        "checks": {
            "rate_difference_relative": 0.0 if variant == "argument" else 5e-7,
            "differing_pixels_count": 12.0,
        },
        "extras": {"system_bytes": float(CUBE), "cube_bytes": float(CUBE) - 5e6},
        "repeat": 20,
    }
    name = f"coronagraph_variants/n{size}-{variant}"
    return made_up.record(name, params, round_index=i, **(values | changes))


def change(variant, follows):
    checks = {
        "change_compiles_count": float(not follows),
        "change_seconds": 0.04 if follows else 7.5,
        "change_follows_count": float(follows),
        "script_call_00_seconds": 7.5,
        # This call takes 28 ms longer than the nineteen others.
        "script_call_01_seconds": 0.0507,
    }
    checks |= {f"script_call_{call:02}_seconds": 0.0227 for call in range(2, 21)}
    params = {"size": 64, "variant": variant}
    return made_up.record(f"coronagraph_change/n64-{variant}", params, checks=checks)


def array(operation, variant, size, i):
    embedded = size if variant == "closure" else 0
    cost = {"none": 10e-9, "exp": 80e-9}[operation]
    params = {"operation": operation, "variant": variant, "array_bytes": size}
    name = f"capture_size/{operation}-{variant}-{size}"
    return made_up.record(
        name,
        params,
        round_index=i,
        compile_seconds=0.05 + cost * embedded,
        embedded_bytes=embedded,
        checks={},
    )


def skipped():
    record = made_up.failed(
        "coronagraph_variants/n256-closure",
        {"size": 256, "variant": "closure"},
        status="skipped",
        phase="start",
        kind="NotEnoughMemory",
        message="needs 27.3 GB, 20.1 GB are available",
    )
    return dataclasses.replace(record, phases=Record("", "ok").phases)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return the folder of a study with two versions of JAX, an audit and a picture."""
    root = tmp_path_factory.mktemp("closure")
    for i in range(6):
        for variant in CAPTURED:
            for size in (64, 128):
                made_up.write(root / "cases", frame(variant, size, i), i)
        for operation in ("none", "exp"):
            for size in (10**3, 10**6, 10**8):
                for variant in ("closure", "argument"):
                    made_up.write(root / "cases", array(operation, variant, size, i), i)
    for variant, follows in (("closure", False), ("argument", True)):
        made_up.write(root / "cases", change(variant, follows))
    made_up.write(root / "cases", skipped())
    for variant in ("closure", "argument"):
        record = frame(variant, 64, 0, compile_seconds=1.0)
        record = made_up.in_environment(record, jax="0.7.2", jaxlib="0.7.2")
        path = root / "cases" / made_up.COMMIT / "py3.11-jax0.7.2-cpu" / record.name / "0.json"
        path.parent.mkdir(parents=True)
        path.write_text(record.to_json(), encoding="utf-8")
    found = AuditedArray(
        shape=(324, 64, 64),
        dtype="float32",
        bytes=5_308_416,
        where="",
        path="closure of system.coronagraph.off_axis.function: table.images",
        match="same",
        argument="system",
        uses=(Use("/home/me/benchmarks/workloads/coronagraph/off_axis.py", 34, "f", "moved = x"),),
        embedded_count=1,
        hidden_count=0,
        verdict="large",
        suggestion="make it a leaf",
    )
    audit = Audit("frame", 10**6, (found,), 5_308_416, 5_308_416, 1, 0, "0.10.2")
    path = root / "audits" / made_up.COMMIT / f"{made_up.KEY}.json"
    path.parent.mkdir(parents=True)
    path.write_text(audit.to_json())
    (root / "picture.png").write_bytes(PNG + b"rest")
    return root


@pytest.fixture(scope="module")
def made(study, full_store):
    return make_closure_report(study, casing_store=full_store, kept_versions=study / "none")


def section(made, name):
    return next(one for one in made.document.sections if one.name == name)


def column(table, title):
    index = [column.title for column in table.columns].index(title)
    return [row[index].text for row in table.rows]


def test_the_published_rows_are_above_the_measured_rows(made):
    table = section(made, "closure").tables[0]
    assert column(table, "First call")[:2] == ["43.7", "5.60"]
    assert column(table, "First call / argument")[:2] == ["–", "–"]
    assert column(table, "Steady-state run")[0] == "22.7"
    assert column(table, "Std, n = 20")[0] == "6.20"
    notes = [row[0].note.replace("\u00a0", " ") for row in table.rows]
    sizes = (128,) * len(CAPTURED) + (64,) * len(CAPTURED)
    assert notes[2:] == [f"N = {size}, measured here" for size in sizes]
    # 43.7 - 5.6 seconds for 4.46 GB.
    assert summaries.published_seconds_per_megabyte() == pytest.approx(8.54e-3, rel=1e-3)


@pytest.mark.parametrize(
    "said",
    [
        "Each closure captures exactly the bytes of its workload's arrays",
        "Rate maps of all variants agree within 5.0e−7",
        # Lowering adds 1 ms for each megabyte. The median of the wobbles of compiling is 1.005.
        f"Each embedded megabyte adds {1.005 * MILLISECONDS_PER_MEGABYTE + 1:.1f} ms",
        "published: 8.54 ms",
    ],
)
def test_the_sentences_on_frames_follow_from_the_records(made, said):
    findings = " ".join(section(made, "closure").findings).replace("\u00a0", " ")
    assert said in findings


def test_the_naive_spread_includes_the_first_call(made):
    row = made.tables["closure_versus_argument"].iloc[0]
    assert row["naive_std_median_seconds"] > row["steady_std_median_seconds"]
    # One run takes 28 ms longer than nineteen equal runs, so the deviation is 28 / sqrt(20).
    assert quantities.naive_std(0.0507, [0.0227] * 20) == pytest.approx(6.26e-3, rel=1e-3)
    assert (
        quantities.naive_std(0.05, [0.02] * 18) is quantities.naive_std(None, [0.02] * 20) is None
    )


def test_runs_are_drawn_in_their_order_with_the_first_call_at_zero(made):
    figure, _ = section(made, "spread").figures
    assert len(figure.panels) == 2
    for panel in figure.panels:
        assert sum("polyline" in part for part in panel.parts) == 6
        assert sum("run 0:" in part for part in panel.parts) == 6
        assert sum("run 20:" in part for part in panel.parts) == 6


def test_calls_right_after_the_call_that_compiles_are_drawn_and_described(made):
    spread = section(made, "spread")
    _, script = spread.figures
    assert sum("call" in part and "run 0" in part for part in script.panels[0].parts) == 0
    for panel in script.panels:
        assert sum("run 1:" in part for part in panel.parts) == 1
        assert sum("run 20:" in part for part in panel.parts) == 1
    assert any(
        said.startswith("Closure") and "deviation is 6.26 ms" in said and "2.23× the median" in said
        for said in spread.findings
    )
    assert len(spread.findings) == 2


def test_skipped_frames_and_failed_cases_of_the_casing_are_listed_with_their_reasons(made):
    (table,) = section(made, "problems").tables
    assert column(table, "Message") == ["needs 27.3 GB, 20.1 GB are available", "over 60 s"]
    lead = "Not included in any table above: 1 skipped, 1 timeout."
    assert section(made, "problems").lead == lead
    (fact,) = (one for one in made.document.facts if one.name == "Failed or skipped")
    assert fact.value == "2"


def test_the_cost_of_a_change_is_given_for_both_variants(made):
    lead = section(made, "change").lead
    assert "closure compiles 1 program" in lead and "argument compiles no program" in lead


def test_versions_are_shown_together_and_ratios_are_within_one_version(made):
    assert "0.7.2, 0.10.2" in section(made, "versions").lead
    table = made.tables["closure_versus_argument"]
    old = table.loc[table["environment_key"].str.contains("0.7.2")]
    closure = old.loc[old["variant"] == "closure"].iloc[0]
    # 1.33 s for both variants, and 1 ms for each of the 277 MB that the closure captures.
    assert closure["trace_lower_compile_to_argument_ratio"] == pytest.approx(1.607 / 1.33, rel=1e-3)
    assert made.environment_key.startswith("py3.11-jax0.10.2")


def test_kept_rows_are_shown_if_their_environment_is_not_measured(made, study, tmp_path):
    kept = tmp_path / "kept"
    path = versions.keep(made.tables["versions"], "py3.11-jax0.7.2", kept)
    assert path.name == "py3.11-jax0.7.2-cpu.csv" and len(pd.read_csv(path)) == 2
    newest = tmp_path / "newest"
    shutil.copytree(
        study / "cases" / made.commit / made.environment_key, newest / "cases/c/py3.11-x"
    )
    again = make_closure_report(newest, kept_versions=kept)
    (table,) = section(again, "versions").tables
    shown = {(row[0].text, row[-1].text[:4]) for row in table.rows}
    assert shown == {("0.7.2", "2026"), ("0.10.2", "here")}
    # Kept rows of a measured environment are not shown.
    both = make_closure_report(study, kept_versions=kept)
    assert {row[-1].text for row in section(both, "versions").tables[0].rows} == {"here"}


@pytest.mark.parametrize("beginning, count", [("py3", 2), ("py2", 0)])
def test_an_ambiguous_or_unknown_environment_is_not_kept(made, tmp_path, beginning, count):
    with pytest.raises(ReportError, match=f"keep: {count} environment keys"):
        versions.keep(made.tables["versions"], beginning, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "size,variant\n64,closure\n"])
def test_a_damaged_file_of_kept_rows_is_named(tmp_path, text):
    (tmp_path / "py3.csv").write_text(text)
    with pytest.raises(ReportError, match="py3.csv"):
        versions.kept(tmp_path)


def test_rows_kept_in_the_repository_can_be_read():
    rows = versions.kept()
    assert set(rows["variant"]) <= set(versions.VARIANTS)
    assert not [v for v in rows["trace_lower_compile_median_seconds"] if pd.isna(v)]


def test_the_section_on_breaking_even_has_the_numbers_of_the_records(made):
    even = section(made, "break_even")
    # 10 ms, times the median wobble of 1.005.
    assert "megabyte of a captured array adds 10.1 ms to every compile" in even.lead
    # A tenth of the 3.33 s of trace, lower and compile, divided by 10 ms for each megabyte.
    assert "takes a tenth longer with 33" in even.lead
    assert even.findings[0].startswith("The array's exp adds 80.4 ms for each megabyte")


def test_hidden_arrays_are_named_with_path_and_line(made):
    (table,) = section(made, "audit").tables
    cases = [case.text for case in table.rows[0]]
    assert cases[0] == "closure of system.coronagraph.off_axis.function: table.images"
    assert "benchmarks/workloads/coronagraph/off_axis.py:34" in cases
    assert not any("/home/me" in case for case in cases)


def test_the_page_is_one_file_with_the_picture_inside(made, tmp_path):
    page = write_report(made, tmp_path / "report")
    text = page.read_text(encoding="utf-8")
    assert 'href="data:image/png;base64,iVBORw0KGgpyZXN0"' in text
    assert "http://www.w3.org/2000/svg" in text
    assert not [part for part in text.split('src="')[1:] if not part.startswith("data:")]
    assert (tmp_path / "report" / "report.md").exists()
    assert (tmp_path / "report" / "tables" / "closure_versus_argument.parquet").exists()
    frames = pd.read_csv(tmp_path / "report" / "tables" / "closure_versus_argument.csv")
    assert len(frames) == len(made.tables["closure_versus_argument"])


def test_the_casing_is_read_from_the_store_of_the_suites_in_the_environment_of_the_page(
    made, study, full_store
):
    assert "w7x half period" in section(made, "casing").lead
    old = make_closure_report(study, casing_store=full_store, environment="py3.11-jax0.7.2")
    assert old.environment_key == "py3.11-jax0.7.2-cpu"
    assert "casing" not in {one.name for one in old.document.sections}


def test_a_casing_of_which_no_record_can_be_read_is_an_error(study, tmp_path):
    made_up.write(tmp_path, made_up.casing_case("closure", 3)).write_text('{"schema": 999}')
    with pytest.raises(ReportError, match="none of the 1 files in .* could be read"):
        make_closure_report(study, casing_store=tmp_path)


def test_a_study_in_which_every_case_failed_has_a_page(tmp_path):
    record = made_up.failed("coronagraph_variants/n64-closure", {"size": 64, "variant": "closure"})
    record = dataclasses.replace(record, failure=Failure("compile", "Signal", "died of SIGKILL"))
    made_up.write(tmp_path / "cases", record)
    made = make_closure_report(tmp_path)
    assert made.succeeded_count == 0
    assert section(made, "problems").tables[0].rows
    assert write_report(made, tmp_path / "report").exists()


def test_a_partial_study_has_a_page_that_names_what_was_not_measured(tmp_path):
    made_up.write(tmp_path / "cases", frame("closure", 64, 0, repeat=3))
    made = make_closure_report(tmp_path)
    assert "nothing can be said" in section(made, "closure").lead
    assert "This was not measured" in section(made, "spread").lead
    assert write_report(made, tmp_path / "report").exists()


def test_an_unreadable_study_is_an_error_and_an_unreadable_audit_has_a_section(
    study, tmp_path, capsys
):
    assert main(["closure", "--study", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "measure first" in capsys.readouterr().err
    with pytest.raises(ReportError, match="nothing measured for commit abc"):
        make_closure_report(study, commit="abc")
    for path in (study / "audits").rglob("*.json"):
        cut = tmp_path / path.relative_to(study)
        cut.parent.mkdir(parents=True)
        cut.write_text(path.read_text()[:50])
    made_up.write(tmp_path / "cases", frame("closure", 64, 0, repeat=3))
    made = make_closure_report(tmp_path)
    assert "cannot be read" in section(made, "audit").lead


@pytest.mark.parametrize("slope, drawn", [(0.5, True), (0.0, False), (math.nan, False)])
def test_the_fit_of_compile_times_is_explained_only_where_it_is_drawn(slope, drawn):
    point = {"variant": "closure", "size": 64}
    points = pd.DataFrame([{**point, "extra_bytes": 8e6, "extra_seconds": 0.3}])
    figure = figures.embedded(points, slope, "closure")
    assert (("limit", "fit") in figure.legend) is drawn
    assert ("The dashed line" in figure.caption) is drawn
    assert any('class="limit"' in part for part in figure.panels[0].parts) is drawn
