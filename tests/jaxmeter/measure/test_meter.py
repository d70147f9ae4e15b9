"""Measuring in this process: phases, counts and samples of programs with known values."""

import functools
import gc
import itertools
import threading
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

import jaxmeter
from jaxmeter import Case, JaxmeterError, Record, RetraceError
from jaxmeter._measure.counts import Events, listening
from jaxmeter._measure.meter import Run
from jaxmeter._measure.phases import fresh_arguments, no_persistent_cache
from jaxmeter._measure.progress import Progress

X = jnp.arange(8.0)


def fake_clock(*seconds):
    """Return a clock that advances by the given seconds between its readings."""
    return map(float, np.cumsum(seconds)).__next__


def test_each_phase_gets_its_own_seconds():
    # Pairs: the seconds before a phase, and the seconds of the phase.
    # The clock is also read for the warm-up run between the first call and the samples.
    clock = fake_clock(0, 1, 10, 2, 10, 4, 10, 8, 10, 99, 10, 16, 10, 32, 10, 64)
    record = jaxmeter.measure(lambda x: 2.0 * x, X, repeat=3, clock=clock)
    assert record.phases == jaxmeter.Phases(1.0, 2.0, 4.0, 8.0)
    assert record.samples_seconds == (16.0, 32.0, 64.0)


def test_recompiles_do_not_read_the_persistent_cache(persistent_cache):
    with listening(Events()) as events:
        record = jaxmeter.measure(lambda x: 2.5 * x, X, repeat=1, compiles=3)
    assert (record.status, len(record.recompiles), events.cache_hits) == ("ok", 2, [])
    assert list(persistent_cache.glob("*-cache"))  # the first compile wrote its program


def test_a_block_without_the_persistent_cache_does_not_end_its_use(persistent_cache):
    def compile_again():
        jax.clear_caches()
        with listening(Events()) as events:
            jax.jit(lambda x: 3.5 * x).lower(X).compile()
        return len(events.compiled), len(events.cache_hits)

    for second in ((1, 0), (0, 1)):  # the first compile with the cache writes the program
        with no_persistent_cache():
            assert compile_again() == (1, 0)
        assert compile_again() == second


def test_recompiles_come_last_and_change_neither_phases_nor_counts():
    clock = fake_clock(0, 1, 10, 2, 10, 4, 10, 8, 10, 99, 10, 16, *(10, 1, 10, 3, 10, 5) * 2)
    record = jaxmeter.measure(lambda x: 2.0 * x, X, repeat=1, compiles=3, clock=clock)
    assert record.phases == jaxmeter.Phases(1.0, 2.0, 4.0, 8.0)
    assert record.recompiles == (jaxmeter.Phases(1.0, 3.0, 5.0),) * 2
    assert (record.counts.traces_count, record.counts.compiles_count) == (1, 1)
    assert Record.from_json(record.to_json()) == record
    assert "compile again" in jaxmeter.table(record)


def test_a_recompile_traces_again_and_works_with_donated_arguments():
    traces = []

    def seen(x):
        traces.append(x)
        return x + 1.0

    assert len(jaxmeter.measure(seen, X, repeat=1, compiles=3).recompiles) == 2
    assert len(traces) == 3
    donating = Case(lambda x: x + 1.0, (jnp.arange(4.0),), jit_options={"donate_argnums": 0})
    assert len(jaxmeter.measure(donating, repeat=1, compiles=2).recompiles) == 1


def test_seconds_spent_tracing_count_only_in_the_trace_phase():
    now = [0.0]

    def slow_to_trace(x):
        now[0] += 3.0
        return x + 1.0

    record = jaxmeter.measure(slow_to_trace, X, clock=lambda: now[0])
    assert record.phases == jaxmeter.Phases(3.0, 0.0, 0.0, 0.0)
    assert record.samples_seconds == (0.0,) * 20


def runs_on_host(host):
    """Return a function whose runs call ``host``."""
    return lambda x: jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def slow_to_run(now, seconds):
    """Return a function whose runs advance a clock."""

    def host(x):
        now[0] += seconds
        return x

    return runs_on_host(host)


def test_seconds_spent_running_count_only_in_the_runs():
    now = [0.0]
    record = jaxmeter.measure(slow_to_run(now, 0.25), X, repeat=4, clock=lambda: now[0])
    assert record.phases == jaxmeter.Phases(0.0, 0.0, 0.0, 0.25)
    assert record.samples_seconds == (0.25,) * 4


@pytest.mark.parametrize(
    ("max_seconds", "taken"), [(None, 10), (100.0, 10), (6.0, 7), (5.5, 6), (0.001, 3)]
)
def test_sampling_stops_when_the_time_is_spent_but_not_before_three_samples(max_seconds, taken):
    now = [0.0]
    options: dict[str, Any] = {"max_seconds": max_seconds, "clock": lambda: now[0]}
    record = jaxmeter.measure(slow_to_run(now, 1.0), X, repeat=10, **options)
    assert record.samples_seconds == (1.0,) * taken


def test_garbage_collection_is_disabled_during_samples_and_enabled_again():
    states = []

    def host(x):
        states.append(gc.isenabled())
        return x

    assert gc.isenabled()
    jaxmeter.measure(runs_on_host(host), X, repeat=5)
    assert states[-5:] == [False] * 5
    assert gc.isenabled()


def run_steady(jitted, **fields):
    """Return the samples of five steady-state runs, and the last answer."""
    noted: list[tuple[float, ...]] = []
    run: Any = SimpleNamespace(
        jitted=jitted,
        arguments=fields.get("arguments", lambda: ((), {})),
        clock=fields.get("clock", lambda: 0.0),
        trace_events_count=fields.get("trace_events_count", lambda: 1),
        progress=Progress(Record("r", "ok")),
        note_samples=lambda samples: noted.append(tuple(samples)),
    )
    answer = Run.run_steady(run, 5, None)
    return noted[-1], answer


def test_waiting_is_timed_but_making_arguments_is_not_and_only_one_answer_exists_at_a_time():
    now, living = [0.0], set()
    numbers = itertools.count()

    class Answer:
        def __init__(self):
            now[0] += 1.0
            self.number = next(numbers)
            living.add(self.number)
            assert len(living) == 1

        def block_until_ready(self):
            now[0] += 2.0

        def __del__(self):
            living.discard(self.number)

    def arguments():
        now[0] += 50.0
        return (), {}

    samples, _ = run_steady(Answer, arguments=arguments, clock=lambda: now[0])
    assert samples == (3.0,) * 5


def test_samples_are_in_the_order_of_the_runs_and_the_first_run_is_left_out():
    now, lengths = [0.0], iter([100.0, 1.0, 5.0, 2.0, 4.0, 3.0])

    def call():
        now[0] += next(lengths)
        return now[0]

    assert run_steady(call, clock=lambda: now[0]) == ((1.0, 5.0, 2.0, 4.0, 3.0), 115.0)


@pytest.mark.parametrize("run", [0, 1, 3])
def test_a_second_trace_in_any_steady_state_run_is_an_error(run):
    counts = iter([1] * (1 + run) + [2] * 9)
    with pytest.raises(RetraceError, match="steady-state run of <lambda>: got another trace"):
        run_steady(lambda: None, trace_events_count=lambda: next(counts))


def test_the_record_of_a_small_program_is_as_counted_by_hand():
    def known(x):
        return jnp.sin(x) * 2.0

    record = jaxmeter.measure(known, X, repeat=3)
    assert (record.status, record.failure, record.name) == ("ok", None, "known")
    assert record.counts == jaxmeter.Counts(1, 1, 1, 0)
    assert record.constants.captured_bytes == record.constants.embedded_bytes == 0
    assert record.program.jaxpr_equations_count == 2
    assert record.memory.argument_bytes == record.memory.output_bytes == 64
    assert record.environment is not None
    assert record.environment.backend == jax.default_backend()
    assert record.environment.jax_options["jax_enable_x64"] is True
    assert Record.from_json(record.to_json()) == record


def test_a_case_gives_keywords_options_check_and_extras():
    def scaled(x, *, power, factor=1.0):
        return factor * x**power

    case = Case(
        scaled,
        (X,),
        {"power": 2, "factor": 3.0},
        jit_options={"static_argnames": "power"},
        check=lambda answer: {"largest": answer.max()},
        extras={"prepared_seconds": 1},
    )
    record = jaxmeter.measure(case, repeat=2, name="mine")
    assert record.name == "mine"
    assert record.checks == {"largest": 147.0}
    assert record.extras == {"prepared_seconds": 1.0}
    assert record.counts == jaxmeter.Counts(1, 1, 1, 0)


@pytest.mark.parametrize("weak", [False, True])
def test_donated_arguments_are_kept_and_cause_no_retrace(weak):
    x = jax.jit(lambda: jnp.asarray(2.0))() if weak else X + 0.0
    case = Case(lambda x: x + 1.0, (x,), jit_options={"donate_argnums": 0})
    record = jaxmeter.measure(case, repeat=3)
    assert record.memory.alias_bytes == x.nbytes
    assert record.counts.traces_count == 1
    assert len(record.samples_seconds) == 3 and not x.is_deleted()


def test_arguments_that_are_not_donated_are_passed_without_a_copy():
    args, kwargs = (X,), {"y": X}
    arguments = fresh_arguments(jax.jit(lambda x, y: x + y).lower(*args, **kwargs), args, kwargs)
    assert arguments()[0] is args and arguments()[1] is kwargs


def test_a_partial_is_refused_if_it_holds_a_donated_array_and_the_array_is_kept():
    step, state = jax.jit(lambda n, s, x: n * (s + x), static_argnums=0, donate_argnums=1), X + 0.0
    with pytest.raises(jaxmeter.JaxmeterError, match="pass this array as an argument"):
        jaxmeter.measure(functools.partial(jax.jit(jnp.add, donate_argnums=0), state), X, repeat=2)
    assert not state.is_deleted()
    assert jaxmeter.measure(functools.partial(step, 2), state, X, repeat=2).status == "ok"


def test_a_jitted_function_is_not_jitted_again_and_a_second_measurement_compiles_nothing():
    @functools.partial(jax.jit, static_argnames="power")
    def jitted(x, power):
        return x**power

    record = jaxmeter.measure(Case(jitted, (X,), {"power": 3}), repeat=2)
    assert record.counts == jaxmeter.Counts(None, 1, 1, 0)
    again = jaxmeter.measure(Case(jitted, (X,), {"power": 3}), repeat=2)
    assert (again.status, again.counts) == ("ok", jaxmeter.Counts(None, 0, 0, 0))


@pytest.mark.parametrize(
    ("before", "missing"),
    [
        (lambda jitted: jitted.trace(X), ["trace"]),
        (lambda jitted: jitted.lower(X), ["trace", "lower"]),
        (lambda jitted: jitted.lower(X).compile(), ["trace", "lower", "compile"]),
        (lambda jitted: jitted(X), ["trace", "lower", "compile"]),
    ],
    ids=["trace", "lower", "compile", "call"],
)
def test_a_phase_has_no_seconds_if_jax_uses_an_earlier_result(before, missing):
    jitted = jax.jit(lambda x: x + 1.0)
    before(jitted)
    record = jaxmeter.measure(jitted, X, repeat=1)
    seconds = vars(record.phases)
    assert [name.removesuffix("_seconds") for name in seconds if seconds[name] is None] == missing
    assert f"no time for {', '.join(missing)}: JAX used an earlier result" in jaxmeter.table(record)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["plain", "jitted"])
def test_callables_of_every_kind_have_a_name_and_are_counted(wrap):
    class Callable:
        def __call__(self, x):
            return x + 1.0

        def method(self, x):
            return x - 1.0

    def two(a, x):
        return a * x

    for fn, name in (
        (Callable(), "Callable"),
        (Callable().method, "method"),
        (functools.partial(two, 2.0), "two"),
        (lambda x: x, "<lambda>"),
    ):
        record = jaxmeter.measure(wrap(fn), X, repeat=1)
        assert record.counts.traces_count == record.counts.compiles_count == 1, name
        if wrap is not jax.jit:
            assert (record.name, record.counts.python_executions_count) == (name, 1)


def test_traces_and_compiles_of_other_functions_do_not_count():
    @jax.jit
    def inner(x):
        return jnp.cos(x)

    def outer(x):
        jax.jit(lambda y: y * 3.0)(np.ones(3))  # another program, run while tracing
        return inner(x) + inner(2.0 * x)

    record = jaxmeter.measure(outer, X, repeat=2)
    assert record.counts == jaxmeter.Counts(1, 1, 1, 0)


@pytest.mark.parametrize("jitted", [False, True])
def test_an_injected_second_trace_is_an_error_of_the_steady_phase(jitted, never_the_same):
    def stated(x, mode):
        return x + 1.0

    options: dict[str, Any] = {"static_argnums": 1}
    fn, given = (jax.jit(stated, **options), {}) if jitted else (stated, options)
    case = Case(fn, (X, never_the_same), jit_options=given)
    message = "steady-state run of stated: got another trace"
    with pytest.raises(RetraceError, match=message) as caught:
        jaxmeter.measure(case)
    assert caught.value.__notes__[-1] == "jaxmeter.measure: raised in the phase 'steady'"


def test_effects_cause_no_retraces(capfd):
    def printing(x):
        jax.debug.print("sum {}", x.sum())
        return io_callback(lambda y: y, jax.ShapeDtypeStruct((), X.dtype), x[0])

    record = jaxmeter.measure(printing, X, repeat=2)
    assert record.counts == jaxmeter.Counts(1, 1, 1, 0)


def test_running_without_jit_is_an_error():
    with jax.disable_jit(), pytest.raises(RetraceError, match="jax_disable_jit"):
        jaxmeter.measure(lambda x: x + 1.0, X)


def test_events_are_counted_only_within_the_block():
    def heard(x):
        return x + 1.0

    with listening(Events()) as outer:
        with listening(Events()) as inner:
            jax.jit(heard)(X)
        jax.jit(heard)(np.ones(5))
    jax.jit(heard)(np.ones(6))
    assert (inner.traced.count("heard"), outer.traced.count("heard")) == (1, 2)


def test_a_cache_hit_is_counted_for_the_compile_of_the_same_thread():
    def compiled(name):
        event = "/jax/core/compile/backend_compile_duration"
        jax.monitoring.record_event_duration_secs(event, 0.0, fun_name=name)

    with listening(Events()) as events:
        jax.monitoring.record_event("/jax/compilation_cache/cache_hits")
        other = threading.Thread(target=compiled, args=("other",))
        other.start()
        other.join()
        compiled("read")
    assert (events.compiled, events.cache_hits) == (["other"], ["read"])


def test_an_error_of_the_function_is_raised_with_its_phase():
    def broken(x):
        raise KeyError("no such thing")

    with pytest.raises(KeyError) as caught:
        jaxmeter.measure(broken, X)
    assert caught.value.__notes__[-1] == "jaxmeter.measure: raised in the phase 'trace'"


@pytest.mark.parametrize("returned", [3, {"error": "large"}, {1: 2.0}, None])
def test_a_check_that_returns_no_numbers_is_an_error(returned):
    case = Case(lambda x: x, (X,), check=lambda answer: returned)
    with pytest.raises(JaxmeterError, match=r"^Case\.check: got result.*give a dictionary"):
        jaxmeter.measure(case, repeat=1)
