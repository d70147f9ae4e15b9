"""Phases are timed by the given clock; steady-state runs do nothing but run."""

import gc
import itertools
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxmeter import Record, RetraceError
from jaxmeter._measure.meter import Run
from jaxmeter._measure.phases import fresh_arguments, timed
from jaxmeter._measure.progress import Progress


class FakeClock:
    """A clock that only `sleep` advances."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def runs(
    call,
    arguments=lambda: ((), {}),
    *,
    repeat=5,
    max_seconds=None,
    clock=None,
    trace_events_count=lambda: 1,
):
    """Return the samples and the last answer of steady-state runs."""
    noted = []
    run: Any = SimpleNamespace(
        jitted=call,
        arguments=arguments,
        clock=clock or FakeClock(),
        trace_events_count=trace_events_count,
        progress=Progress(Record("r", "ok")),
        note_samples=lambda samples: noted.append(list(samples)),
    )
    answer = Run.run_steady(run, repeat, max_seconds)
    return noted[-1], answer


def test_a_call_is_timed_exactly_and_waiting_for_the_device_counts():
    clock = FakeClock()
    assert timed(clock, lambda: clock.sleep(2.5)) == (None, 2.5)

    class Slow:
        def block_until_ready(self):
            clock.sleep(4.0)
            return self

    assert timed(clock, Slow)[1] == 4.0


def test_samples_are_raw_and_in_order_and_the_warm_up_run_is_left_out():
    clock = FakeClock()
    lengths = iter([100.0, 1.0, 5.0, 2.0, 4.0, 3.0])

    def call():
        clock.sleep(next(lengths))
        return clock.now

    samples, answer = runs(call, clock=clock)
    assert samples == [1.0, 5.0, 2.0, 4.0, 3.0]
    assert answer == clock.now


def test_making_the_arguments_is_not_timed():
    clock = FakeClock()

    def arguments():
        clock.sleep(50.0)
        return (3.0,), {}

    assert runs(clock.sleep, arguments, clock=clock)[0] == [3.0] * 5


@pytest.mark.parametrize(
    ("max_seconds", "taken"),
    [(None, 10), (100.0, 10), (6.0, 7), (5.5, 6), (0.001, 3)],
)
def test_sampling_stops_when_the_time_is_spent_but_not_before_three(max_seconds, taken):
    clock = FakeClock()
    samples, _ = runs(lambda: clock.sleep(1.0), repeat=10, max_seconds=max_seconds, clock=clock)
    assert samples == [1.0] * taken


def test_no_garbage_is_collected_within_a_sample_and_collection_comes_back():
    states = []
    assert gc.isenabled()
    runs(lambda: states.append(gc.isenabled()))
    assert states[1:] == [False] * 5
    assert gc.isenabled()


def test_only_one_answer_is_alive_at_a_time():
    alive = itertools.count()
    living = set()

    class Answer:
        def __init__(self):
            self.number = next(alive)
            living.add(self.number)
            assert len(living) <= 2  # with the answer of the warm-up run

        def __del__(self):
            living.discard(self.number)

    runs(Answer)


@pytest.mark.parametrize("run", [0, 1, 3])
def test_a_run_that_is_traced_again_is_an_error(run):
    traces = iter([1] * (1 + run) + [2] * 9)
    with pytest.raises(RetraceError, match=r"steady-state run of <lambda>: got another trace"):
        runs(lambda: None, trace_events_count=lambda: next(traces))


def test_donated_arguments_are_copied_for_each_run():
    jitted = jax.jit(lambda x, y: x + y, donate_argnums=0)
    args = (jnp.ones(4), jnp.ones(4))
    arguments = fresh_arguments(jitted.lower(*args), args, {})
    samples, answer = runs(jitted, arguments)
    assert len(samples) == 5
    assert answer.tolist() == [2.0] * 4
    assert not args[0].is_deleted()


def test_arguments_that_are_not_donated_are_passed_as_they_are():
    args, kwargs = (jnp.ones(4),), {"y": jnp.ones(4)}
    arguments = fresh_arguments(jax.jit(lambda x, y: x + y).lower(*args, **kwargs), args, kwargs)
    assert arguments()[0] is args and arguments()[1] is kwargs
