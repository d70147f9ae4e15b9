"""The events of processes are combined into a run, even if some events are missing. The slowest
functions are profiled."""

import json
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import pytest

from jaxmeter import CompileProfile, table
from jaxmeter._retrace.groups import Call, Explanation, Group
from jaxmeter._retrace.signatures import signature
from jaxmeter._retrace.watch import Seen
from jaxmeter._watch import cache_events
from jaxmeter._watch.cache_events import CacheEvents
from jaxmeter._watch.doctor import _reason
from jaxmeter._watch.read import read_run
from jaxmeter._watch.recorder import Slowest

START = {
    "event": "start",
    "time": 100.0,
    "pid": 5,
    "parent": 4,
    "forked": False,
    "executable": "python",
    "python": "3.11.7",
    "argv": ["python"],
}


def event(stage, name, start, end, *, thread=1, **fields):
    return {
        "event": stage,
        "time": end,
        "seconds": end - start,
        "name": name,
        "defined": "",
        "thread": thread,
        "why": "first" if stage == "trace" else "not known",
        "causes": [],
        "stack": [],
        **fields,
    }


def read(folder, *events, end=""):
    text = "".join(json.dumps(one) + "\n" for one in events)
    (folder / "5-1.jsonl").write_text(text + end)
    return read_run(folder, ["python"], 0, 100.0, 120.0)


def test_seconds_within_another_stage_count_once(tmp_path):
    run = read(
        tmp_path,
        START,
        event("trace", "inner", 102, 103),
        event("compile", "inner", 103, 105, cache={"outcome": "off", "reason": ""}),
        event("compile", "other", 104, 106, thread=2, cache={"outcome": "hit", "reason": ""}),
        event("trace", "outer", 101, 106),
        event("compile", "outer", 106, 110, cache={"outcome": "off", "reason": ""}),
    )
    seconds = {one.id: one.own_seconds for one in run.compiles}
    assert seconds == {"inner#1": 3, "outer#1": 6, "other#1": 2}
    assert (run.busy_seconds, run.compiling_seconds) == (9, 11)
    assert (run.compiles_count, run.cache_hits_count) == (2, 1)


def test_a_trace_without_a_compile_is_not_counted_and_overlapping_threads_are_noted(tmp_path):
    off = {"outcome": "off", "reason": ""}
    option = [["option", "jax_a", "1", "2"]]
    run = read(
        tmp_path,
        START,
        event("trace", "f", 101, 102),
        event("compile", "f", 102, 105, cache=off),
        event("trace", "f", 105, 106, why="again", causes=option),
        event("compile", "f", 106, 108, cache=off),
        event("trace", "f", 108, 109, why="again", causes=option),
        event("compile", "other", 104, 106, thread=2, cache=off),
    )
    (again, cache) = run.savings
    assert again.what == "f: option jax_a"
    assert (again.compiles_count, again.seconds) == (2 - 1, 4)
    assert (cache.compiles_count, run.compiles_count) == (3, 3)
    assert "the times of all compiles add up to 10 s" in table(run)


def test_threads_that_compile_at_the_same_time_do_not_save_the_sum_of_their_times(tmp_path):
    option = [["option", "jax_a", "1", "2"]]
    run = read(
        tmp_path,
        START,
        {"event": "jax", "time": 100.0, "version": "1"},
        *(event("trace", "f", 101, 105, thread=n, why="again", causes=option) for n in (1, 2)),
    )
    assert (run.avoidable_seconds, run.busy_seconds) == (8, 4)
    assert "up to 4 s could be saved" in table(run)


def test_the_reason_of_a_cache_miss_is_an_unwritten_program_a_changed_key_or_not_known(tmp_path):
    def compiled(outcome, reason="", parts=None):
        cache = {"outcome": outcome, "reason": reason, "parts": parts or {}}
        return read(tmp_path, START, event("compile", "f", 101, 102, cache=cache)).compiles[0]

    now = compiled("written", parts={"computation": "1", "XLA flags": "2"})
    before = compiled("not written", "it took < 1.00 seconds", now.cache_key_parts)
    assert _reason(before, now).endswith(
        "did not write this program to the cache: it took < 1.00 seconds"
    )
    assert _reason(now, now) == "not known: no part of the cache key changed"
    assert _reason(compiled("written"), now).startswith("not known: this version of JAX")
    before = compiled(
        "not written", "it took < 1.00 seconds", {"computation": "1", "XLA flags": "3"}
    )
    assert _reason(before, now) == "the cache key changed in these parts: XLA flags"


def test_an_event_that_was_cut_off_is_reported_and_the_rest_is_kept(tmp_path):
    run = read(tmp_path, START, event("trace", "f", 101, 102), end='{"event": "comp')
    assert [one.id for one in run.compiles] == ["f#1"]
    (process,) = run.processes
    assert process.problems == ("an event was cut off",) and process.ending == "without notice"


@pytest.mark.parametrize("text", ["", "{"])
def test_a_file_without_a_start_event_is_not_a_process(tmp_path, text):
    (tmp_path / "5-1.jsonl").write_text(text)
    assert read_run(tmp_path, ["python"], 0, 100.0, 120.0).processes == ()


def test_a_process_whose_events_cannot_be_read_is_reported(tmp_path):
    (tmp_path / "7-110000000000.jsonl").mkdir()
    run = read(tmp_path, START, event("trace", "f", 101, 102))
    process = run.processes[1]
    assert (process.pid, process.start_seconds) == (7, 10)
    assert "the events of a process cannot be read" in table(run)


def test_the_time_of_profiles_is_left_out_once_for_processes_that_profile_at_the_same_time(
    tmp_path,
):
    for pid, ended in ((5, 104.0), (6, 105.0), (7, 110.0)):
        done = {"event": "profiled", "time": ended, "seconds": 3.0}
        text = "".join(json.dumps(one) + "\n" for one in ({**START, "pid": pid}, done))
        (tmp_path / f"{pid}-1.jsonl").write_text(text)
    assert read_run(tmp_path, ["python"], 0, 100.0, 120.0).seconds == 20 - 4 - 3


def test_the_slowest_function_is_profiled_with_the_placement_and_weak_types_of_its_arguments():
    def slow(factor, x, y):
        return factor * x + y

    def quick(x):
        return 2 * x

    half = jnp.ones(3, jnp.bfloat16)
    placed = jax.device_put(half, jax.devices()[0])
    slowest, written = Slowest(1), []
    for fn, trace_seconds, args in (
        (slow, 9.0, (jnp.asarray(2.0), half, placed)),
        (quick, 1.0, (half,)),
    ):
        group = Group(fn.__name__, fn.__code__, trace_seconds=trace_seconds)
        call = Call(fn, signature(fn, args, {}), args)
        slowest.offer(Seen("compile", group, 1.0, [], call, Explanation("first"), False))
    ((*_, case),) = slowest._kept.values()
    assert [one.sharding for one in case.args] == [None, None, placed.sharding]
    assert jax.eval_shape(slow, *case.args).dtype == jnp.bfloat16
    slowest.profile(lambda kind, **fields: written.append(fields))
    assert CompileProfile.from_json(written[0]["profile"]).name == "slow"


def test_a_cache_hit_counts_only_for_a_compile_of_its_thread(monkeypatch):
    monkeypatch.setattr(cache_events, "_LOGGERS", ())
    events = CacheEvents()
    jax.monitoring.record_event(cache_events._HIT)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(events.taken).result()["outcome"] == "off"
    assert events.taken()["outcome"] == "hit"
    assert events.taken()["outcome"] == "off"
