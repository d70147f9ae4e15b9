"""An error names the call, what the call got, and what to give."""

from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import pytest

import jaxmeter
from jaxmeter import Case, Effort, JaxmeterError, Side, compare

X = jnp.ones(3)
ANY = cast(Any, 3)
CUBE = jnp.ones((3, 3))


@jax.jit
def step(x):
    return CUBE @ x


CASE = Case(step, (X,))
power = jax.jit(lambda x, n: x**n, static_argnums=1)


@pytest.mark.parametrize("name", ["audit", "hoist", "inventory", "measure", "memory"])
def test_a_number_for_a_function_or_arguments_beside_a_case_are_errors_that_name_the_call(name):
    call = getattr(jaxmeter, name)
    with pytest.raises(JaxmeterError, match=f"^{name}: got fn=3; give a callable or a Case"):
        call(3, 1.0)
    with pytest.raises(JaxmeterError, match=rf"^{name}: got a Case and separate arguments \(1 of"):
        call(Case(abs, (1.0,)), 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jaxmeter.audit(abs, 3, threshold_bytes=-1), "got threshold_bytes=-1"),
        (lambda: jaxmeter.audit(abs, 3, threshold_bytes=cast(Any, 1e6)), "=1000000.0; give a who"),
        (
            lambda: jaxmeter.audit(Case(step, (X,), jit_options={"inline": True})),
            r"Case: got jit_options \['inline'\] for a function that is already jitted",
        ),
        (
            lambda: jaxmeter.hoist(power, X, n=2)[0]({}, X, n=3),
            "than jaxmeter.hoist: static value of n: 2 -> 3; call jaxmeter.hoist again",
        ),
        (
            lambda: jaxmeter.audit(power, X, [2]),
            r"^audit: <lambda> got the static argument \[2\], which JAX cannot hash; give a tuple",
        ),
        (
            lambda: jaxmeter.audit(step.lower(X).compile(), X),
            "^audit: got a compiled program, .*; give the function from which the program was",
        ),
        (lambda: jaxmeter.hoist(step, X)[0]({}, X), "that jaxmeter.hoist returned, named CUBE"),
        (lambda: jaxmeter.audit(step), r"^audit: got no arguments for step\(x\): .*\(step, x\)$"),
        (lambda: jaxmeter.hoist(power, X), r"^hoist: got \(float64\[3\]\) for <lambda>\(x, n\): "),
        (lambda: jaxmeter.measure(lambda x: x, X, 2), r"^measure: .*: too many positional"),
        (lambda: jaxmeter.retraces(step), r"retraces: got no calls of step; .*\[\(x,\), \(y,\)\]"),
        (lambda: jaxmeter.retraces(step, [()]), r"no arguments for step.* \[\(x,\)\]\)$"),
        (lambda: jaxmeter.retraces(ANY, []), "retraces: got fn=3"),
        (lambda: jaxmeter.retraces(abs, X), "retraces: got calls of type ArrayImpl"),
        (lambda: jaxmeter.retraces(abs, [X]), r"got call 0 of type ArrayImpl; .* \(x,\)"),
        (lambda: jaxmeter.retraces(step, [(X,)], inline=True), "already jitted"),
        (lambda: jaxmeter.diff(ANY, step, X), "diff: got 3; give a function"),
        (lambda: jaxmeter.diff(CASE, CASE, X), "got 1 argument, but neither program is a function"),
        (lambda: jaxmeter.inventory(step.lower(X).compile(), X), "leave the arguments out"),
        (lambda: jaxmeter.tradeoff(cast(Any, abs), [ANY]), "got 3 among the parameters"),
        (lambda: jaxmeter.tradeoff(lambda n: n, [{"n": 3}]), r"function return jaxmeter\.Case"),
        (lambda: jaxmeter.tradeoff(lambda: CASE, [{}], repeat=0), "tradeoff.*repeat=0"),
        (lambda: jaxmeter.measure(abs, X, repeat=0), "measure: got repeat=0"),
        (lambda: jaxmeter.measure(abs, X, compiles=0), "measure: got compiles=0"),
        (lambda: jaxmeter.measure(abs, X, max_seconds=0), "measure: got max_seconds=0"),
        (lambda: compare("nothing", "m:f"), "got target='nothing'; give 'package.module:function'"),
        (lambda: compare(lambda x: x, "m:f"), "which a fresh process cannot import"),
        (lambda: compare(ANY, "m:f"), "got 3, which a fresh process"),
        (lambda: compare("m:f", "m:g", processes=1), "got processes=1; give a whole number >= 2"),
        (lambda: compare("m:f", "m:g", timeout_seconds=0), "compare: got timeout_seconds=0; give"),
        (lambda: compare("m:f", "m:g", path="folder"), "compare: got path='folder'; give a list"),
        (lambda: compare("m:f", "m:g", env={"A": ANY}), r"env=\{'A': 3\}; give values, each a s"),
        (lambda: compare("m:f", "m:g", lambda: 0), "cannot be pickled"),
        (lambda: compare(Side("m:f", arg=("3",)), "m:g", 3), "got a Side with arguments and 1"),
        (lambda: jaxmeter.compare_processes([]), "^compare_processes: got no processes; give"),
        (lambda: Effort(turns=0), "Effort: got turns=0"),
        (lambda: Effort(steady_seconds=float("nan")), "Effort: got steady_seconds=nan"),
        (lambda: jaxmeter.run_case(cast(Any, "a:b")), r"got 'a:b'; give a jaxmeter\.BenchmarkCase"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(call, message):
    with pytest.raises(JaxmeterError, match=message):
        call()


@pytest.mark.parametrize("name", ["audit", "compile_profile", "hoist", "inventory", "retraces"])
def test_an_error_of_the_function_has_no_frame_of_jaxmeter_and_names_the_call(name):
    def broken(x):
        return {}[x.shape]

    with pytest.raises(KeyError) as caught:
        getattr(jaxmeter, name)(broken, [(X,)] if name == "retraces" else X)
    assert [entry.name for entry in caught.traceback][1:] == ["broken"]
    assert caught.traceback[-1].path == Path(__file__)
    assert f"jaxmeter.{name}: raised by broken" in "".join(caught.value.__notes__)
    assert "which got (float64[3])" in "".join(caught.value.__notes__)


def test_an_error_about_a_number_in_an_equinox_module_suggests_filter_jit():
    eqx = pytest.importorskip("equinox")
    model = eqx.nn.Dropout(0.5)

    def loss(model, x):
        return model(x, key=jax.random.key(0)).sum()

    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        jaxmeter.audit(loss, model, X)
    assert "try: give equinox.filter_jit(loss) in place of loss" in caught.value.__notes__[-1]
    assert jaxmeter.audit(eqx.filter_jit(loss), model, X).verdict == "fine"
