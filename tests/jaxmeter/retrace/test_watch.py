"""Traces within a block are counted for each function, with their lines and causes."""

import functools
import os
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
from jaxmeter import Watched
from tests.jaxmeter.retrace.retrace_situations import PassesNumbers

X = jnp.ones(3)


def own(watched):
    """Return the functions that are not JAX's own, by name."""
    return {one.name: one for one in watched.report.functions if not one.is_jax}


def texts(function):
    return [str(cause) for cause in function.causes]


def squared(x, n=2):
    return x**n


class Model:
    def apply(self, x):
        return x * 3.0


def added(x):
    return x + 8.0


MODEL = Model()


def jit_lambda():
    return jax.jit(lambda x: x * 1.5)


def jit_function():
    def tripled(x):
        return x * 3.5

    return jax.jit(tripled)


@pytest.mark.parametrize(
    ("make", "name", "kind"),
    [
        (jit_lambda, "<lambda>", "a lambda"),
        (jit_function, "tripled", "a function"),
        (lambda: jax.jit(functools.partial(squared, n=3)), "squared", "a partial"),
        (lambda: jax.jit(MODEL.apply), "apply", "a bound method"),
        (lambda: jax.jit(jax.vmap(added)), "added", "a function"),
    ],
)
def test_functions_made_again_are_recognised_by_their_code(make, name, kind):
    with jaxmeter.watch() as watched:
        for _ in range(5):
            make()(X)
    seen = own(watched)[name]
    assert (seen.traces_count, seen.compiles_count, seen.objects_count) == (5, 5, 5)
    assert texts(seen) == [f"{kind} of the same code, made again"]
    assert seen.defined.startswith(__file__)
    assert "call jax.jit once" in seen.causes[0].suggestion


def test_a_function_jitted_again_and_again_is_one_object():
    with jaxmeter.watch() as watched:
        for _ in range(5):
            jax.jit(squared)(X)
    seen = own(watched)["squared"]
    assert (seen.traces_count, seen.compiles_count, seen.objects_count) == (1, 1, 1)
    assert seen.causes == ()


def test_calls_of_one_function_have_causes_and_lines():
    jitted = jax.jit(squared, static_argnames="n")
    with jaxmeter.watch() as watched:
        jitted(X, n=2)
        for n in (2, 3, 2):
            jitted(X, n=n)
        jitted(jnp.ones(4), n=3)
    seen = own(watched)["squared"]
    assert (seen.traces_count, seen.compiles_count, seen.objects_count) == (3, 3, 1)
    assert texts(seen) == ["static value of n: 2 -> 3", "shape of x: (3,) -> (4,)"]
    (place,) = (place for place in seen.places if place.text == "jitted(X, n=n)")
    assert (place.file, place.traces_count, place.compiles_count) == (__file__, 1, 1)
    assert seen.trace_seconds > 0 and seen.compile_seconds > 0


class ConvertsNumbers(PassesNumbers):
    """A function jitted by a library that converts Python numbers to arrays."""

    def __call__(self, x, n):
        return self.jitted(x, jnp.asarray(n, x.dtype))


@pytest.mark.parametrize("jit", [jax.jit, PassesNumbers, ConvertsNumbers])
def test_another_number_and_a_numpy_array_do_not_hide_the_cause(jit):
    jitted = jit(lambda x, n: x * n)

    def calls():
        yield (X, 1)
        with jax.default_matmul_precision("float32"):
            yield (np.asarray(X), 2)
        jax.clear_caches()
        yield (np.asarray(X), 3)

    with jaxmeter.watch() as watched:
        report = jaxmeter.retraces(jitted, calls())
    option = "option jax_default_matmul_precision: None -> 'float32'"
    assert [*map(str, report.calls[1].causes)] == [option]
    assert [*map(str, report.calls[2].causes)] == ["no known cause"]
    seen = own(watched)["<lambda>"]
    assert (seen.traces_count, texts(seen)) == (3, [option])


def test_a_number_that_a_library_makes_static_is_a_cause():
    jitted = pytest.importorskip("equinox").filter_jit(lambda x, n: x * n)
    with jaxmeter.watch() as watched:
        for n in (1, 2, 1):
            jitted(X, n)
    assert texts(own(watched)["<lambda>"]) == ["static number of n: 1 -> 2"]


def test_a_program_compiled_ahead_of_time_belongs_to_its_function():
    jitted = jax.jit(lambda ahead: ahead + 1.0)
    with jaxmeter.watch() as watched:
        jitted.lower(X).compile()
        jitted(X)
    seen = own(watched)["<lambda>"]
    assert seen.compiles_count >= 1 and seen.causes == ()
    assert len(own(watched)) == 1


def test_an_object_with_attributes_that_raise_errors_can_call_a_jitted_function():
    class Odd:
        def __getattr__(self, name):
            raise KeyError(name)

        def __call__(self, x):
            return jit_lambda()(x)

    with jaxmeter.watch() as watched:
        for _ in range(2):
            Odd()(X)
    assert texts(own(watched)["<lambda>"]) == ["a lambda of the same code, made again"]


def test_under_vmap_and_grad_compiles_have_no_cause_and_traces_count_only_if_jax_reports_them():
    loss = jax.jit(lambda w: (w * w).sum())
    with jaxmeter.watch() as watched:
        loss(X)
        for n in (3, 4, 5):
            jax.grad(loss)(jnp.ones(n))
            jax.vmap(loss)(jnp.ones((2, n)))
    seen = own(watched)["<lambda>"]
    assert seen.traces_count == (1 if jax.__version_info__ >= (0, 10) else 3)
    assert (seen.compiles_count, seen.causes) == (10, ())


def test_another_transformation_of_a_function_is_not_the_function_made_again():
    with jaxmeter.watch() as watched:
        jax.jit(added)(X)
        jax.jit(jax.vmap(added))(X)
        jax.jit(jax.grad(added))(1.0)
    seen = own(watched)["added"]
    assert (seen.traces_count, seen.objects_count, seen.causes) == (3, 3, ())


def test_traces_in_other_threads_are_counted():
    with jaxmeter.watch() as watched:
        thread = threading.Thread(target=lambda: jit_lambda()(X))
        thread.start()
        thread.join()
    assert own(watched)["<lambda>"].traces_count == 1


def test_nested_functions_are_part_of_the_outer_function():
    inner = jax.jit(lambda x: x - 1.0)

    def outer(x):
        return inner(x) * 2.0

    with jaxmeter.watch() as watched:
        jax.jit(outer)(X)
    assert {name: one.traces_count for name, one in own(watched).items()} == {"outer": 1}


def test_functions_of_jax_are_counted_together():
    with jaxmeter.watch() as watched:
        jnp.where(jnp.ones(17) > 0, 1.0, 2.0)
    report = watched.report
    assert report.functions and all(function.is_jax for function in report.functions)
    assert report.suggestions == ()
    assert "  of JAX itself: " in jaxmeter.table(report)


def test_a_package_with_a_name_like_jax_is_not_jax():
    package: dict = {}
    code = "def solve(x):\n    return x + 9.0"
    exec(compile(code, os.path.dirname(jax.__file__) + "opt/solve.py", "exec"), package)
    with jaxmeter.watch() as watched:
        jax.jit(package["solve"])(X)
    assert not own(watched)["solve"].is_jax


def test_the_report_has_the_traces_of_the_block_so_far_and_no_later_ones():
    with jaxmeter.watch() as watched:
        before = watched.report
        jit_lambda()(X)
        assert own(watched)["<lambda>"].traces_count == 1
    jit_function()(X)
    assert {*own(watched)} == {"<lambda>"}
    assert jaxmeter.table(before) == "0 traces, 0 compiles of 0 functions"


def test_a_function_that_was_deleted_is_not_mistaken_for_a_new_one():
    with jaxmeter.watch() as watched:
        for _ in range(3):
            jit_lambda()(X)
            jax.clear_caches()  # so that the next function may get the same address
    assert own(watched)["<lambda>"].objects_count == 3


def test_without_frames_of_jax_the_counts_still_hold(monkeypatch):
    monkeypatch.setattr("jaxmeter._retrace.watch._call", lambda frames: None)
    with jaxmeter.watch() as watched:
        for _ in range(3):
            jit_lambda()(X)
    (seen,) = watched.report.functions
    assert (seen.traces_count, seen.compiles_count, seen.objects_count) == (3, 3, None)
    assert (seen.defined, seen.causes) == ("", ())


def test_a_watched_block_shows_counts_lines_causes_and_suggestions():
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
    assert "  - squared: make n static only if Python needs its value" in text
    markdown = jaxmeter.markdown(report)
    assert "`static value of n: 5 -> 6`" in markdown and "Suggestions:" in markdown
