"""What is traced within a block is counted by function, with the lines and the causes."""

import functools
import sys
import threading

import jax
import jax.numpy as jnp
import pytest

import jaxmeter
from jaxmeter import Watched

X = jnp.ones(3)


def line():
    return sys._getframe(1).f_lineno


def own(watched):
    """The functions that are not JAX's, by name."""
    return {told.name: told for told in watched.report.functions if not told.is_jax}


def texts(told):
    return [str(cause) for cause in told.causes]


def squared(x, n=2):
    return x**n


class Model:
    def apply(self, x):
        return x * 3.0


def again_lambda():
    return jax.jit(lambda x: x * 1.5)


def again_function():
    def tripled(x):
        return x * 3.5

    return jax.jit(tripled)


def again_partial():
    return jax.jit(functools.partial(squared, n=3))


MODEL = Model()


def again_method():
    return jax.jit(MODEL.apply)


@pytest.mark.parametrize(
    ("make", "name", "kind"),
    [
        (again_lambda, "<lambda>", "a lambda"),
        (again_function, "tripled", "a function"),
        (again_partial, "squared", "a partial"),
        (again_method, "apply", "a bound method"),
    ],
)
def test_functions_made_anew_are_found_by_their_code(make, name, kind):
    with jaxmeter.watch() as watched:
        for _ in range(5):
            make()(X)
    told = own(watched)[name]
    assert (told.traces_count, told.compiles_count, told.objects_count) == (5, 5, 5)
    assert texts(told) == [f"{kind} of the same code, made again"]
    assert told.defined.startswith(__file__)
    assert "call jax.jit once" in told.causes[0].advice


def test_a_function_jitted_again_and_again_is_one_object():
    with jaxmeter.watch() as watched:
        for _ in range(5):
            jax.jit(squared)(X)
    told = own(watched)["squared"]
    assert (told.traces_count, told.compiles_count, told.objects_count) == (1, 1, 1)
    assert told.causes == ()


def test_calls_of_one_function_are_told_by_their_arguments_and_lines():
    jitted = jax.jit(squared, static_argnames="n")
    with jaxmeter.watch() as watched:
        jitted(X, n=2)
        for n in (2, 3, 2):
            at = line() + 1
            jitted(X, n=n)
        jitted(jnp.ones(4), n=3)
    told = own(watched)["squared"]
    assert (told.traces_count, told.compiles_count, told.objects_count) == (3, 3, 1)
    assert texts(told) == ["static value of n: 2 -> 3", "shape of x: (3,) -> (4,)"]
    (place,) = (place for place in told.places if place.line == at)
    assert (place.file, place.traces_count, place.compiles_count) == (__file__, 1, 1)
    assert place.text == "jitted(X, n=n)"
    assert told.trace_seconds > 0 and told.compile_seconds > 0


def test_a_program_compiled_ahead_of_time_belongs_to_its_function():
    jitted = jax.jit(lambda ahead: ahead + 1.0)
    with jaxmeter.watch() as watched:
        jitted.lower(X).compile()
        jitted(X)
    told = own(watched)["<lambda>"]
    assert told.compiles_count >= 1 and told.causes == ()
    assert len(own(watched)) == 1


def test_what_is_under_another_transformation_gets_no_cause():
    jitted = jax.jit(squared)
    with jaxmeter.watch() as watched:
        jitted(X)
        jax.vmap(jitted)(jnp.ones((5, 3)))
        jax.grad(lambda x: jitted(x).sum())(X)
    assert own(watched)["squared"].causes == ()


def test_another_transformation_of_a_function_is_not_the_function_made_again():
    def added(x):
        return x + 8.0

    with jaxmeter.watch() as watched:
        jax.jit(added)(X)
        jax.jit(jax.vmap(added))(X)
        jax.jit(jax.grad(added))(1.0)
    told = own(watched)["added"]
    assert (told.traces_count, told.objects_count, told.causes) == (3, 3, ())


def test_a_wrapper_made_anew_is_told():
    def added(x):
        return x + 9.0

    with jaxmeter.watch() as watched:
        for _ in range(3):
            jax.jit(jax.vmap(added))(X)
    told = own(watched)["added"]
    assert (told.traces_count, told.objects_count) == (3, 3)
    assert texts(told) == ["a function of the same code, made again"]


def test_what_equinox_makes_static_is_told_by_the_one_value_that_changed():
    eqx = pytest.importorskip("equinox")
    scaled = eqx.filter_jit(lambda x, factor, other: x * factor + other)
    with jaxmeter.watch() as watched:
        scaled(X, 2.0, 1.0)
        scaled(X, 3.0, 1.0)
    (cause,) = own(watched)["<lambda>"].causes
    assert (cause.kind, cause.before, cause.now) == ("static value", "2.0", "3.0")


def test_threads_are_watched_too():
    with jaxmeter.watch() as watched:
        thread = threading.Thread(target=lambda: again_lambda()(X))
        thread.start()
        thread.join()
    assert own(watched)["<lambda>"].traces_count == 1


def test_nested_functions_are_part_of_the_outer():
    inner = jax.jit(lambda x: x - 1.0)

    def outer(x):
        return inner(x) * 2.0

    with jaxmeter.watch() as watched:
        jax.jit(outer)(X)
    assert {name: told.traces_count for name, told in own(watched).items()} == {"outer": 1}


def test_what_jax_does_by_itself_is_told_apart():
    with jaxmeter.watch() as watched:
        jnp.where(jnp.ones(17) > 0, 1.0, 2.0)
    report = watched.report
    assert report.functions and all(told.is_jax for told in report.functions)
    assert report.advice == ()
    assert "  of JAX itself: " in jaxmeter.table(report)


def test_a_block_that_compiles_nothing_says_so():
    with jaxmeter.watch() as watched:
        pass
    jax.jit(lambda x: x - 7.0)(X)
    assert watched.report.functions == ()
    assert jaxmeter.table(watched.report) == "0 traces, 0 compiles of 0 functions"


def test_the_report_is_there_within_the_block():
    with jaxmeter.watch() as watched:
        before = watched.report
        again_lambda()(X)
        assert own(watched)["<lambda>"].traces_count == 1
    assert before.functions == ()


def test_a_function_that_is_gone_is_not_taken_for_a_new_one():
    with jaxmeter.watch() as watched:
        for _ in range(3):
            again_lambda()(X)
            jax.clear_caches()  # so that the next may get the same address
    assert own(watched)["<lambda>"].objects_count == 3


def test_without_jax_s_own_frames_the_counts_still_hold(monkeypatch):

    monkeypatch.setattr("jaxmeter._retrace.watch._call", lambda frames: None)
    with jaxmeter.watch() as watched:
        for _ in range(3):
            again_lambda()(X)
    (told,) = watched.report.functions
    assert (told.traces_count, told.compiles_count, told.objects_count) == (3, 3, None)
    assert (told.defined, told.causes) == ("", ())


def test_a_watched_block_reads_well():
    jitted = jax.jit(squared, static_argnames="n")
    with jaxmeter.watch() as watched:
        jitted(X, n=5)
        jitted(X, n=6)
    report = watched.report
    assert Watched.from_json(report.to_json()) == report
    text = jaxmeter.table(report)
    assert text.startswith("2 traces, 2 compiles of 1 function\n  function ")
    assert "\n  squared " in text
    assert ": jitted(X, n=6)" in text and "    static value of n: 5 -> 6" in text
    assert "  - squared: make n static only if Python has to know it" in text
    markdown = jaxmeter.markdown(report)
    assert "`static value of n: 5 -> 6`" in markdown and "Suggestions:" in markdown


def test_only_results_are_rendered():
    with pytest.raises(jaxmeter.JaxmeterError, match=r"table: got 3; give one of jaxmeter\.Audit"):
        jaxmeter.table(3)
