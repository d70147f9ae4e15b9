"""Memory by buffers, peaks and allocators, and the tradeoff of memory for time."""

import dataclasses
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
from jaxmeter import Allocator, Buffer, Case, MemoryUse, Record, Tradeoff
from jaxmeter._program import buffers, memory
from jaxmeter._render.memory import allocator_text

W = jnp.ones((200, 200))
BYTES = 200 * 200 * 8
TABLE = jnp.asarray(np.random.default_rng(0).normal(size=(200, 200)))


def step(w, x):
    with jax.named_scope("layer"):
        y = jnp.sort(w @ x, axis=0)
    return jnp.sort(y.T, axis=0).sum()


@pytest.fixture(scope="module")
def use():
    return jaxmeter.memory(step, W, W)


def test_buffers_are_sorted_by_size_with_their_shape_and_named_scope(use):
    assert use.source == "assignment"
    arguments = {(one.scope, one.bytes) for one in use.buffers if one.kind == "argument"}
    assert arguments == {("w", BYTES), ("x", BYTES)}
    large = [one for one in use.buffers if one.kind == "temporary" and one.bytes == BYTES]
    assert any(one.scope.startswith("layer/") for one in large)
    assert {one.shape for one in large} <= {"f64[200,200]"}
    sizes = [one.bytes for one in use.buffers]
    assert sizes == sorted(sizes, reverse=True)


def test_buffers_agree_with_the_totals_of_the_compiler(use):
    ends = [one.offset_bytes + one.bytes for one in use.buffers if one.offset_bytes is not None]
    assert use.memory.temp_bytes is not None
    assert BYTES <= max(ends) <= use.memory.temp_bytes
    total = sum(one.bytes for one in use.buffers if one.kind == "argument")
    assert total == use.memory.argument_bytes == 2 * BYTES


def test_a_function_given_shapes_is_not_run(use):
    shape = jax.ShapeDtypeStruct((200, 200), "float64")
    described = jaxmeter.memory(step, shape, shape)
    assert not described.ran and described.memory.peak_rss_bytes is None
    assert described.memory.argument_bytes == 2 * BYTES
    assert not jaxmeter.memory(step, W, W, run=False).ran
    assert use.ran


@pytest.mark.skipif(memory.rss_bytes() is None, reason="the system reports no resident set")
def test_a_run_has_the_baseline_and_both_peaks_of_the_process(use):
    # test_accounting.py checks that a peak includes memory that was freed again.
    found = use.memory
    assert found.peak_rss_bytes is not None and found.baseline_rss_bytes is not None
    assert found.compile_peak_rss_bytes is not None
    assert found.peak_rss_bytes >= 0.9 * found.baseline_rss_bytes > 0


def test_the_peak_of_a_function_with_static_arguments_includes_its_compile(monkeypatch):
    peaks = iter((300, 100))  # the run resets the peak
    monkeypatch.setattr(memory, "peak_rss_bytes", lambda: next(peaks))
    found = jaxmeter.memory(Case(lambda x, n: x * n, (W, 2), {}, {"static_argnums": 1})).memory
    assert found.compile_peak_rss_bytes == found.peak_rss_bytes == 300


def test_without_a_buffer_assignment_buffers_are_the_results_of_instructions(monkeypatch):
    monkeypatch.setattr(buffers, "_assigned", lambda text, known: iter(()))
    use = jaxmeter.memory(step, W, W, run=False)
    assert use.source == "instructions"
    kinds = {one.kind for one in use.buffers if one.bytes == BYTES}
    assert {"argument", "temporary"} <= kinds
    assert all(one.offset_bytes is None for one in use.buffers)
    assert "the compiler reports no buffers" in jaxmeter.table(use)


def test_a_program_in_the_persistent_cache_has_its_buffers(use, persistent_cache):
    jax.jit(step).lower(W, W).compile()
    for _ in range(2):
        jax.clear_caches()
        again = jaxmeter.memory(step, W, W, run=False)
        assert (again.source, again.buffers) == ("assignment", use.buffers)


ASSIGNMENT = """BufferAssignment:
allocation 0: size 24, page 0, parameter 0, shape |f64[3]| at ShapeIndex {}:
 value: <7 x.1 @0> (size=24,offset=0): f64[3]{0}
allocation 1: size 24, output shape is |f64[3]|, maybe-live-out:
 value: <9 sort.0{0} @0> (size=24,offset=0): f64[3]{0}
 value: <10 while.1{1} (phi) @0> (size=24,offset=0): f64[3]{0}
allocation 2: size 8, thread-local:
 value: <1 add @0> (size=8,offset=0): f64[]
allocation 3: size 4096, constant:
 value: <5 c @0> (size=4096,offset=0): f64[512]{0}
allocation 4: size 100, preallocated-temp:
 value: <2 dot.1 @0> (size=64,offset=32): f64[8]{0}
 value: <3 tuple.1{} @0> (size=16,offset=0): (f64[8]{0}, f64[3]{0})
allocation 5: size 24, parameter 1, maybe-live-out:
 value: <4 donated @0> (size=24,offset=0): f64[3]{0}

Total bytes used: 4276 (4.2KiB)

Used values:
 value: <2 dot.1 @0> (size=64,offset=32): f64[8]{0}
"""


def test_the_buffers_of_a_known_assignment_are_read():
    read, source = buffers.buffers_in(ASSIGNMENT, ())
    found = {(one.kind, one.bytes, one.instruction, one.offset_bytes) for one in read}
    assert source == "assignment"
    assert found == {
        ("argument", 24, "x.1", None),
        ("output", 24, "sort.0", None),
        ("constant", 4096, "c", None),
        ("temporary", 64, "dot.1", 32),
        ("output", 24, "donated", None),
    }
    sizes = buffers.allocated_bytes(ASSIGNMENT)
    assert sizes == {"argument": 24, "output": 48, "temporary": 100, "constant": 4096}
    assert buffers.buffers_in("", ()) == ((), "instructions")


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("gpu", {}, (True, 0.75, "default")),
        ("gpu", {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}, (False, 0.75, "default")),
        ("gpu", {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".5"}, (True, 0.5, "default")),
        ("gpu", {"XLA_CLIENT_MEM_FRACTION": ".9"}, (True, 0.9, "default")),
        ("gpu", {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}, (False, 0.75, "platform")),
        ("cpu", {"XLA_PYTHON_CLIENT_PREALLOCATE": "true"}, (None, None, None)),
    ],
)
def test_the_allocator_follows_the_environment_variables(
    monkeypatch, platform, environment, expected
):
    stats = {"bytes_limit": 100}
    device = types.SimpleNamespace(platform=platform, memory_stats=lambda: stats)
    monkeypatch.setattr(jax, "local_devices", lambda: [device])
    for name in ("PYTHON_CLIENT_PREALLOCATE", "PYTHON_CLIENT_MEM_FRACTION", "CLIENT_MEM_FRACTION"):
        monkeypatch.delenv(f"XLA_{name}", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = memory.allocator()
    assert (found.preallocate, found.fraction, found.kind) == expected
    assert found.limit_bytes == 100


def test_the_allocator_is_described_in_one_line():
    texts = {
        allocator_text(Allocator(True, 0.75, "default", 10**10), "gpu"): "preallocates 75 % of "
        "the device's memory (10 GB)",
        allocator_text(Allocator(False, 0.5, "default", None), "gpu"): "as needed, up to 50 %",
        allocator_text(Allocator(False, 0.5, "platform", None), "gpu"): "from the platform",
        allocator_text(Allocator(None, None, None, None), "cpu"): "preallocates nothing",
    }
    for text, part in texts.items():
        assert part in text


def measured(times):
    """Return a stand-in for `jaxmeter.measure`.

    `times` has the seconds and the temp bytes of each argument; None raises a MemoryError.
    """

    def measure(case, **_):
        (n,) = case.args
        if times[n] is None:
            raise MemoryError("too large\nby far")
        seconds, temp = times[n]
        record = Record("r", "ok", samples_seconds=(seconds, 9.0, seconds, 0.0, seconds))
        return dataclasses.replace(record, memory=jaxmeter.Memory(temp_bytes=temp))

    return measure


def test_a_choice_is_on_the_front_if_no_other_choice_beats_it_in_time_and_memory(monkeypatch):
    times = {1: (4.0, 10), 2: (2.0, 100), 3: (3.0, 100), 4: (1.0, 1000), 5: None, 6: (2.0, 99)}
    monkeypatch.setattr(memory, "measure", measured(times))
    tradeoff = jaxmeter.tradeoff(lambda n: Case(abs, (n,)), [{"n": n} for n in times])
    assert [point.params["n"] for point in tradeoff.points] == [4, 6, 2, 3, 1, 5]
    assert [point.params["n"] for point in tradeoff.front] == [4, 6, 1]
    assert [point.seconds for point in tradeoff.front] == [1.0, 2.0, 4.0]
    best = [tradeoff.best(size) for size in (5, 10, 500, 1e9)]
    assert [point and point.params["n"] for point in best] == [None, 1, 6, 4]
    assert tradeoff.points[-1].failure == "MemoryError: too large"
    assert Tradeoff.from_json(tradeoff.to_json()) == tradeoff
    lines = jaxmeter.table(tradeoff).splitlines()
    assert lines[0] == "abs: 3 of 6 choices are best"
    assert lines[1].split() == ["best", "choice", "time", "temporaries"]
    assert lines[2].split() == ["yes", "n=4", "1", "s", "1000", "B"]
    assert [line.strip() for line in lines[-2:]] == ["n=5", "MemoryError: too large"]
    assert "| yes | `n=4` | 1 s | 1000 B |" in jaxmeter.markdown(tradeoff)


def test_a_choice_that_is_a_number_of_numpy_stays_a_number(monkeypatch):
    monkeypatch.setattr(memory, "measure", measured({2: (1.0, 10)}))
    (point,) = jaxmeter.tradeoff(lambda n: Case(abs, (n,)), [{"n": np.int64(2)}]).points
    assert point.params == {"n": 2} and type(point.params["n"]) is int


def test_a_choice_without_axes_that_is_no_number_has_its_text(monkeypatch):
    monkeypatch.setattr(memory, "measure", measured({2: (1.0, 10)}))
    choice = {"key": jax.random.key(0), "x": jax.ShapeDtypeStruct((), "float32")}
    (point,) = jaxmeter.tradeoff(lambda key, x: Case(abs, (2,)), [choice]).points
    assert point.params == {name: str(value) for name, value in choice.items()}


def test_a_larger_batch_has_more_temporaries_and_the_choice_with_the_least_is_on_the_front():
    def make(batch):
        def outer_sorted(row):
            return jnp.sort(jnp.outer(row, row), 0).sum()

        def mapped(x):
            return jax.lax.map(outer_sorted, x, batch_size=batch)

        return Case(mapped, (W[:20],))

    tradeoff = jaxmeter.tradeoff(make, [{"batch": 1}, {"batch": 20}], repeat=2)
    few, many = sorted(tradeoff.points, key=lambda point: str(point.params["batch"]))
    assert few.temp_bytes is not None and many.temp_bytes is not None
    assert few.temp_bytes < many.temp_bytes
    assert few.is_best


def test_a_report_renders_and_survives_json(use):
    assert MemoryUse.from_json(use.to_json()) == use
    text = jaxmeter.table(use)
    rows = [line.split() for line in text.splitlines()]
    assert ["arguments", "640", "kB"] in rows
    assert ["320,000", "argument", "f64[200,200]", "parameter", "w"] in rows
    assert "| 320,000 | argument | `f64[200,200]` | parameter | `w` |" in jaxmeter.markdown(use)
    assert isinstance(use.buffers[0], Buffer)
    many = dataclasses.replace(use, buffers=use.buffers[:1] * 30)
    assert "and 20 more" in jaxmeter.table(many)
    assert jaxmeter.table(many, every=True).count("320,000") == 30
