"""Advice names the slow line of a program. A program that follows the advice gets no advice."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.jaxmeter.compile.test_profile import profiled

X = jnp.linspace(0.5, 1.5, 64)
DRAWN = np.random.default_rng(0).normal(size=(40, 40)).astype("float32")


def unrolled(x):
    for k in range(12):
        x = jnp.sin(x) + jnp.roll(x, k)
    return x


def looped(x):
    return jax.lax.fori_loop(0, 12, lambda k, x: jnp.sin(x) + jnp.roll(x, k), x)


def switched(n, x):
    return jax.lax.switch(n, [lambda y, k=k: jnp.tanh(y * k) for k in range(12)], x)


def indexed(n, x):
    return jnp.tanh(x * jnp.arange(12.0)[n])


def sorted_when_compiled(x):
    return jnp.sort(DRAWN, axis=0) @ x


def sorted_before(order, x):
    return order @ x


def stacked(x):
    return jnp.stack([jnp.cos(n * x) for n in range(10)])


def broadcast(x):
    return jnp.cos(jnp.arange(10.0)[:, None] * x)


ROWS = X[:40].astype("float32")
# By rule: words of the advice, the slow program, and the program changed by the advice.
PAIRS = {
    "unrolled loop": ("equations come from this line", (unrolled, X), (looped, X)),
    "repeated bodies": (
        "12 branches have the same operations",
        *((switched, 3, X), (indexed, 3, X)),
    ),
    "constant folding": (
        "compute sort once",
        *((sorted_when_compiled, ROWS), (sorted_before, DRAWN, ROWS)),
    ),
    "stacked components": ("at least 10 arrays", (stacked, X), (broadcast, X)),
}


@pytest.mark.cpu
@pytest.mark.parametrize("rule", PAIRS)
def test_advice_is_given_for_the_slow_program_and_not_for_the_changed_one(rule):
    words, *programs = PAIRS[rule]
    slow, changed = (profiled(*given) for given in programs)
    (given,) = (one for one in slow.advice if one.rule == rule)
    assert given.source.startswith(__file__) and words in given.text
    assert 0 < given.seconds <= slow.seconds
    assert rule not in {one.rule for one in changed.advice}


@pytest.mark.cpu
def test_advice_on_branches_counts_their_different_lists_of_operations():
    def two_kinds(n, x):
        branches = [lambda y, k=k: jnp.tanh(y * k) for k in range(11)]
        return jax.lax.switch(n, [*branches, lambda y: jnp.sin(jnp.cos(y))], x)

    (given,) = (a for a in profiled(two_kinds, 3, X).advice if a.rule == "repeated bodies")
    assert "12 branches have only 2 different lists" in given.text


@pytest.mark.cpu
def test_a_chain_that_fuses_to_one_kernel_gets_no_advice():
    def chain(x):
        for k in range(16):
            x = jnp.sin(x) * (k + 1.0)
        return x

    found = profiled(chain, X)
    assert len(found.kernels) == 1 and not found.advice


OPTIMIZER = """
import jax
import jax.numpy as jnp


def update(gradients):
    return jax.tree.map(lambda g: jnp.roll(g, 1) * jnp.sin(g), gradients)


def rounds(x):
    for k in range(12):
        x = jnp.sin(x) + jnp.roll(x, k)
    return x


def steps(x):
"""
OPTIMIZER += "".join(f"    x = jnp.sin(x) + jnp.roll(x, {k})\n" for k in range(12))
OPTIMIZER += "    return x\n"


@pytest.mark.cpu
def test_a_package_gets_no_advice_for_loops_over_leaves_and_for_many_lines_without_a_loop():
    package: dict = {}
    exec(compile(OPTIMIZER, "/usr/lib/python3/site-packages/optimizer.py", "exec"), package)
    leaves = {f"w{n}": jnp.ones(n) for n in range(8, 20)}
    found = profiled(lambda leaves: package["update"](leaves), leaves)
    assert len(found.kernels) > 10 and not found.advice
    # The same lines without a loop.
    assert not profiled(lambda x: package["steps"](x), X).advice
    # A loop in a package over one array is advice for the line that calls it.
    (given,) = profiled(lambda x: package["rounds"](x), X).advice
    assert given.rule == "unrolled loop" and given.source.startswith(__file__)
