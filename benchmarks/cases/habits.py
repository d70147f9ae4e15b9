"""Cases that measure kinds of loop, and habits: common ways of using `jax.jit`.

The case of a habit counts the runs of the habit's Python code, counts the compiles, and times all
calls together.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import io_callback

import jaxmeter
from benchmarks.cases.quantities import WrongAnswer
from jaxmeter import Case

CALLS, ROUNDS, SIZE = 10, 20, 1000


class Expected(NamedTuple):
    """The expected numbers of Python runs and compiles of a habit, in JAX 0.7.2 and later."""

    executions: int
    """Runs of the habit's Python code."""
    compiles: int


class Habit:
    """The input of a habit, which is a common way of using `jax.jit`, and a counter.

    The input `x` has the shape (n,). `executions` counts the runs of the habit's Python code.
    """

    def __init__(self, x: jax.Array) -> None:
        self.x, self.executions = x, 0

    def ran(self, *_: Any) -> None:
        """Count one run of the Python code."""
        self.executions += 1

    def body(self, x: Any) -> Any:
        """Return 0.5 x + 1, and count this run of the Python code."""
        self.ran()
        return 0.5 * x + 1.0


def selu(x: jax.Array) -> jax.Array:
    """Return the SELU activation of each number in `x`.

    Without jit, JAX compiles a program for each of the five kinds of operation in this function.
    """
    return 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)


def side_effect_in_jit(habit: Habit) -> None:
    """Call a jitted function ten times; the function has a side effect in Python."""
    jitted = jax.jit(lambda x: habit.body(x))
    for _ in range(CALLS):
        jitted(habit.x)


def side_effect_in_callback(habit: Habit, *, ordered: bool) -> None:
    """Call a jitted function ten times; the function has a callback to Python.

    If `ordered` is true, the callback is an `io_callback`, otherwise a `jax.debug.callback`.
    """

    def called(x: jax.Array) -> jax.Array:
        if ordered:
            io_callback(habit.ran, None, x[0], ordered=True)
        else:
            jax.debug.callback(habit.ran, x[0])
        return 0.5 * x

    jitted = jax.jit(called)
    for _ in range(CALLS):
        jax.block_until_ready(jitted(habit.x))
    jax.effects_barrier()


def shapes(habit: Habit) -> None:
    """Call a jitted function with arguments of three shapes, twice for each shape."""
    jitted = jax.jit(lambda x: habit.body(x))
    for length in (2, 3, 4) * 2:
        jitted(jax.device_put(habit.x[:1].repeat(length)))


def eager_selu(habit: Habit) -> None:
    """Compute `selu` without jit, after `observed` has cleared the caches of JAX."""
    habit.ran()
    selu(habit.x)


def jitted_selu(habit: Habit) -> None:
    """Compute `selu` with a new jitted function, which has no compiled program yet."""
    habit.ran()
    jax.jit(lambda x: selu(x))(habit.x)


def static_values(habit: Habit) -> None:
    """Call a jitted function with twenty static values, twice for each value."""
    jitted = jax.jit(lambda x, n: habit.body(x) + n, static_argnums=1)
    for n in (*range(ROUNDS), *range(ROUNDS)):
        jitted(habit.x, n)


def static_forms(habit: Habit) -> None:
    """Call a jitted function with three forms of the static argument n: 20, n=20 and 20.0."""

    def body(x: jax.Array, n: float) -> jax.Array:
        return habit.body(x) + n

    jitted = jax.jit(body, static_argnames="n")
    jitted(habit.x, 20)
    jitted(habit.x, n=20)
    jitted(habit.x, 20.0)


def temporary_function(habit: Habit) -> None:
    """Jit and call a new lambda in each of twenty rounds."""
    for _ in range(ROUNDS):
        jax.jit(lambda x: habit.body(x))(habit.x)


def named_function(habit: Habit) -> None:
    """Jit and call the same function in each of twenty rounds."""

    def named(x: jax.Array) -> jax.Array:
        return habit.body(x)

    for _ in range(ROUNDS):
        jax.jit(named)(habit.x)


def temporary_partial(habit: Habit) -> None:
    """Jit and call a new partial in each of twenty rounds."""

    def added(k: int, x: jax.Array) -> jax.Array:
        return habit.body(x) + k

    for k in range(ROUNDS):
        jax.jit(functools.partial(added, k))(habit.x)


def bound_method(habit: Habit) -> None:
    """Jit and call a bound method in each of five rounds, without keeping the jitted function."""
    for _ in range(5):
        jax.jit(habit.body)(habit.x)


def loop_around_jit(habit: Habit) -> None:
    """Call a jitted function 1020 times in a Python loop."""
    jitted, x = jax.jit(lambda x: habit.body(x)), habit.x
    for _ in range(1020):
        x = jitted(x)


def while_loop(habit: Habit) -> None:
    """Call a jitted while loop three times, with different numbers of rounds."""

    def rounds(n: int, x: jax.Array) -> jax.Array:
        habit.ran()
        return jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, 0.5 * s[1]), (0, x))[1]

    jitted = jax.jit(rounds)
    for n in (1, 10, 1000):
        jitted(n, habit.x)


def cond(habit: Habit) -> None:
    """Call a jitted conditional twice, once for each branch."""

    def either(flag: bool, x: jax.Array) -> jax.Array:
        habit.ran()
        return jax.lax.cond(flag, jnp.sin, lambda x: x, x)

    jitted = jax.jit(either)
    for flag in (True, False):
        jitted(flag, habit.x)


def make_jaxpr_first(habit: Habit) -> None:
    """Make the jaxpr of a function, then jit and call the same function."""

    def body(x: jax.Array) -> jax.Array:
        return habit.body(x)

    jax.make_jaxpr(body)(habit.x)
    jax.jit(body)(habit.x)


HABITS: dict[str, tuple[Callable[[Habit], None], Expected]] = {
    "side_effect_in_jit": (side_effect_in_jit, Expected(1, 1)),
    "debug_callback": (
        functools.partial(side_effect_in_callback, ordered=False),
        Expected(CALLS, 1),
    ),
    "io_callback": (functools.partial(side_effect_in_callback, ordered=True), Expected(CALLS, 1)),
    "shapes": (shapes, Expected(3, 3)),
    "eager_selu": (eager_selu, Expected(1, 5)),
    "jitted_selu": (jitted_selu, Expected(1, 1)),
    "static_values": (static_values, Expected(ROUNDS, ROUNDS)),
    "static_forms": (static_forms, Expected(3, 3)),
    "temporary_function": (temporary_function, Expected(ROUNDS, ROUNDS)),
    "named_function": (named_function, Expected(1, 1)),
    "temporary_partial": (temporary_partial, Expected(ROUNDS, ROUNDS)),
    "bound_method": (bound_method, Expected(5, 5)),
    "loop_around_jit": (loop_around_jit, Expected(1, 1)),
    "while_loop": (while_loop, Expected(1, 1)),
    "cond": (cond, Expected(1, 1)),
    "make_jaxpr_first": (make_jaxpr_first, Expected(1, 1)),
}


def observed(name: str, x: jax.Array) -> dict[str, float]:
    """Run a habit; return its counts and the seconds of all its calls, including compiles."""
    call, expected = HABITS[name]
    habit = Habit(x)
    # JAX compiles one of its own functions for each eager operation. An earlier call may have
    # compiled these functions in this process already, so the caches are cleared.
    is_eager = name == "eager_selu"
    if is_eager:
        jax.clear_caches()
    start = time.perf_counter()
    with jaxmeter.watch() as watched:
        call(habit)
    seconds = time.perf_counter() - start
    counted = [one for one in watched.report.functions if is_eager or not one.is_jax]
    compiles = sum(one.compiles_count for one in counted)
    found = Expected(habit.executions, compiles)
    if found != expected:
        raise WrongAnswer(
            f"{name}: {found.executions} executions of the Python code and {found.compiles} "
            f"compiles; expected {expected.executions} and {expected.compiles}"
        )
    return {
        "executions_count": found.executions,
        "compiles_count": found.compiles,
        "calls_seconds": seconds,
    }


def habit(*, name: str) -> Case:
    """Run a habit, and return a case with the habit's counts and seconds as extras."""
    x = jnp.linspace(-1.0, 1.0, SIZE, dtype=jnp.float32)
    return Case(lambda x: 0.5 * x, (x,), extras=observed(name, x))


def _repeated(kind: str, rounds: int, x: jax.Array) -> jax.Array:
    if kind == "python":
        for _ in range(rounds):
            x = jnp.sin(x)
        return x
    if kind == "fori_loop":
        return jax.lax.fori_loop(0, rounds, lambda _, x: jnp.sin(x), x)
    return jax.lax.scan(lambda x, _: (jnp.sin(x), None), x, length=rounds)[0]


def loop(*, kind: str, rounds: int) -> Case:
    """Return the case of a loop with `rounds` rounds; each round replaces an array by its sine.

    `kind` is the kind of loop: ``python``, ``fori_loop`` or ``scan``.
    """
    x = jnp.linspace(-1.0, 1.0, SIZE, dtype=jnp.float32)
    jaxpr = str(jax.make_jaxpr(functools.partial(_repeated, kind, rounds))(x))
    sines = jaxpr.count("= sin ")
    if sines != (rounds if kind == "python" else 1):
        raise WrongAnswer(
            f"{kind} loop of {rounds} rounds: the program has {sines} sines; a Python loop "
            "should have a sine for each round, and the other loops a single sine"
        )
    function = functools.partial(_repeated, kind, rounds)  # a new function, not traced yet
    return Case(function, (x,), extras={"equations_count": float(sines)})
