"""Tables of traces: self time, scopes, threads, steps, phases, kernels; unusable files."""

import json
import os

import jax
import numpy as np
import pytest

from jaxmeter import Case, JaxmeterError
from jaxmeter import tables as jt
from jaxmeter._trace.intervals import self_times, union
from tests.jaxmeter.tables.conftest import W, layered

OP = {"hlo_op": "dot.1", "hlo_module": "jit_f", "program_id": "7"}


def test_self_time_is_the_duration_without_nested_events():
    starts, durations = np.array([0.0, 1.0, 2.0, 6.0]), np.array([10.0, 4.0, 1.0, 3.0])
    assert self_times(starts, durations).tolist() == [3.0, 3.0, 1.0, 3.0]
    assert union(zip(starts, starts + durations, strict=True)) == 10.0


def test_the_time_in_which_events_overlap_counts_once():
    starts, durations = np.array([0.0, 3.0, 20.0]), np.array([5.0, 7.0, 1.0])
    assert self_times(starts, durations).tolist() == [3.0, 7.0, 1.0]
    assert union(zip(starts, starts + durations, strict=True)) == 11.0


def test_self_times_sum_to_the_union_of_any_intervals():
    draw = np.random.default_rng(0)
    starts, durations = draw.uniform(0, 50, 300), draw.uniform(0, 3, 300)
    own = self_times(starts, durations)
    assert own.min() >= 0
    covered = union(zip(starts, starts + durations, strict=True))
    assert own.sum() == pytest.approx(covered, rel=1e-12)


@pytest.mark.cpu
def test_operations_have_scope_source_and_counts(tables):
    ops = tables["trace_ops"]
    inner = ops[ops["scope"] == "outer/inner"]
    assert len(inner) and inner["count"].max() == 2 * 5  # two steps, each with five rounds
    assert inner["source"].str.contains("conftest.py:").all()
    assert (ops["self_seconds"] <= ops["total_seconds"] * (1 + 1e-9)).all()
    assert ops["self_fraction"].sum() == pytest.approx(1)
    own, busy = (tables["trace_threads"][f"op_{name}_seconds"] for name in ("self", "busy"))
    assert own.sum() == pytest.approx(ops["self_seconds"].sum())
    assert own.to_list() == pytest.approx(busy.to_list())
    (total,) = tables["trace"].to_dict("records")
    assert total["scoped_fraction"] > 0.9 and total["programs_count"] == 1
    assert total["op_events_count"] == ops["count"].sum() <= total["events_count"]


@pytest.mark.cpu
def test_a_cold_trace_has_steps_and_the_phases_from_trace_to_execute_but_no_kernels(tables):
    steps = tables["trace_steps"]
    assert steps["step"].tolist() == [0, 1] and set(steps["name"]) == {"layered"}
    phases = set(tables["trace_phases"]["phase"])
    assert {"trace", "lower", "compile", "dispatch", "execute"} <= phases
    assert len(tables["kernels"]) == 0


def test_annotations_keep_their_keywords_and_nested_phases_count_once(written):
    line = [
        ("PjitFunction(f)", 0, 200_000_000, {}),
        ("backend_compile", 100_000_000, 50_000_000, {}),
        ("mine", 300_000_000, 10_000_000, {"size": "3"}),
        ("mine", 320_000_000, 10_000_000, {"size": "4"}),
        ("dot.1", 400_000_000, 5_000_000, OP),
    ]
    tables = jt.trace_tables(jt.read_trace(written({"/host:CPU": {"main": line}})))
    mine = tables["trace_annotations"].query("name == 'mine'")
    assert [json.loads(text) for text in mine["keywords"]] == [{"size": "3"}, {"size": "4"}]
    phases = dict(tables["trace_phases"][["phase", "seconds"]].itertuples(index=False))
    assert phases["dispatch"] == pytest.approx(150e-6) and phases["compile"] == pytest.approx(50e-6)
    assert phases["execute"] == pytest.approx(5e-6)
    assert tables["trace"]["programs_with_hlo_count"].tolist() == [0]


def test_kernels_are_read_only_from_the_streams_of_a_gpu(written):
    details = "regs:32 static_shared:16 dynamic_shared:8 grid:10,1,1 block:256,1,1 occ_pct:50"
    kernel = ("fused_dot", 0, 4_000_000, {**OP, "kernel_details": details})
    copy = ("MemcpyD2H", 5_000_000, 1_000_000, {"memcpy_details": "kind_src:device size:8"})
    again = ("fused_dot", 9_000_000, 2_000_000, {**OP, "kernel_details": details})
    device = {"Stream #13(Compute)": [kernel, copy, again], "XLA Ops": [kernel]}
    hlo = (
        "HloModule jit_f\n\nENTRY %main (p: f32[]) -> f32[] {\n"
        '  ROOT %dot.1 = f32[] dot(%p), metadata={op_name="jit(f)/far/dot_general"}\n}\n'
    )
    path = written({"/device:GPU:0": device})
    tables = jt.trace_tables(jt.read_trace(path), {"jit_f": hlo})
    (row,) = tables["kernels"].to_dict("records")
    assert row["launches_count"] == 2 and row["total_seconds"] == pytest.approx(6e-6)
    assert (row["registers_count"], row["shared_bytes"]) == (32, 24)
    assert (row["grid"], row["block"], row["scope"]) == ("10,1,1", "256,1,1", "far")
    assert tables["trace_ops"]["count"].tolist() == [2]


def test_count_is_described_as_events_because_a_run_on_two_threads_has_two_events(written):
    begun, rest = ("sort.0", 0, 1_000_000, OP), ("sort.0", 2_000_000, 9_000_000, OP)
    path = written({"/host:CPU": {"client": [begun], "pool": [rest]}})
    ops = jt.trace_tables(jt.read_trace(path))["trace_ops"]
    assert ops["count"].tolist() == [2]
    assert ops["total_seconds"].tolist() == pytest.approx([10e-6])
    for name, column in (("trace_ops", "count"), ("trace_scopes", "count")):
        assert jt.SCHEMAS[name].columns[column][1].startswith("number of events")


def test_hlo_of_another_program_is_refused(trace):
    other = "ENTRY %main (p: f32[]) -> f32[] {\n  ROOT %dot.1 = f32[] dot(%p)\n}\n"
    for name in ("jit_layered", "jit_absent"):
        with pytest.raises(JaxmeterError, match="does not match the trace: "):
            jt.trace_tables(trace, {name: f"HloModule {name}\n\n{other}"})


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.999])
def test_a_truncated_file_is_refused_and_not_changed(keep, trace, tmp_path):
    whole = trace.path.read_bytes()
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(JaxmeterError, match="truncated"):
        jt.read_trace(path)
    assert path.stat().st_size == int(keep * len(whole))


def test_a_file_without_planes_is_refused(tmp_path):
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(b"\x22\x04host")  # a space that has only the name of a host (field 4)
    with pytest.raises(JaxmeterError, match="no planes of events; trace again"):
        jt.read_trace(path)


@pytest.mark.cpu
def test_a_program_in_the_persistent_cache_is_traced_with_its_scopes(persistent_cache, tmp_path):
    jax.jit(layered)(W, W)
    assert list(persistent_cache.iterdir())
    jax.clear_caches()
    path = jt.capture(Case(layered, (W, W)), tmp_path / "traces", repeat=1)
    assert "outer/inner" in set(jt.trace_tables(jt.read_trace(path))["trace_ops"]["scope"])


def test_a_case_with_shapes_for_arguments_can_be_traced(tmp_path):
    case = Case(jax.numpy.sin, (jax.ShapeDtypeStruct((3,), "float64"),))
    assert jt.capture(case, tmp_path, repeat=1).is_file()


@pytest.mark.parametrize("cold", [False, True])
def test_a_function_that_donates_its_argument_can_be_traced_several_times(cold, tmp_path):
    given = jax.numpy.ones(8)
    case = Case(jax.jit(lambda x: x + 1, donate_argnums=0), (given,))
    path = jt.capture(case, tmp_path, repeat=2, cold=cold)
    assert len(jt.trace_tables(jt.read_trace(path))["trace_steps"]) == 2
    assert not given.is_deleted()


def test_capture_returns_its_own_trace_although_an_older_trace_has_a_later_time(tmp_path):
    older = tmp_path / "plugins" / "profile" / "older" / "host.xplane.pb"
    older.parent.mkdir(parents=True)
    older.touch()
    os.utime(older, (2**32, 2**32))
    case = Case(jax.numpy.sin, (1.0,))
    paths = [jt.capture(case, tmp_path, repeat=1) for _ in range(2)]
    assert older not in paths and all(path.is_file() for path in paths)


def test_empty_and_missing_traces_and_traces_without_hlo_are_refused(written, tmp_path):
    with pytest.raises(JaxmeterError, match="contains no event"):
        jt.read_trace(written({"/host:CPU": {}}))
    with pytest.raises(JaxmeterError, match="which does not exist"):
        jt.trace_file(tmp_path / "nowhere")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(JaxmeterError, match=r"no \*\.xplane\.pb"):
        jt.trace_file(empty)
    with pytest.raises(JaxmeterError, match="no HLO text"):
        jt.hlo_file(written({"/host:CPU": {}}))


def test_empty_and_failing_tools_of_xprof_are_listed_with_the_others(trace):
    def convert(paths, tool, options):
        if tool == "op_profile":
            raise RuntimeError("no such thing")
        if tool == "memory_viewer":
            heap = [{"shapeString": options["module_name"]}]
            return json.dumps([{"maxHeap": heap}, {"maxHeap": heap * 2}])
        rows = [{"c": [{"v": 1}, None]}] if tool == "overview_page" else []
        return json.dumps([{"cols": [{"id": "a"}, {"label": "b"}], "rows": rows}])

    tables = jt.xprof_tables(trace.path, ["jit_f(7)"], convert)
    status = dict(tables["xprof_tools"][["tool", "status"]].itertuples(index=False))
    assert status["overview_page"] == status["memory_viewer"] == "filled"
    assert status["hlo_stats"] == "empty" and "no such thing" in status["op_profile"]
    assert tables["xprof_memory_viewer_jit_f_7"]["shapeString"].tolist() == ["jit_f(7)"]
    assert len(tables["xprof_memory_viewer_jit_f_7_1"]) == 2
    assert list(tables["xprof_overview_page_0"].columns) == ["a", "b"]
