"""Each retrace has its cause, and a call without a trace has none."""

import dataclasses
import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
from jaxmeter import Case, Retraces
from jaxmeter._retrace.signatures import causes, signature
from tests.jaxmeter.retrace.retrace_situations import (
    COMPILED_ONLY,
    SITUATIONS,
    Layer,
    PassesNumbers,
    X,
    Y,
    applied,
    scaled,
)


def truth_of(call):
    """Return the report of a call in the form of `Situation.truth`."""
    if not (call.traced or call.compiled):
        assert call.nearest is None and not call.causes
        return None
    return ("" if call.traced else COMPILED_ONLY) + "; ".join(map(str, call.causes))


def further(report):
    """Return the reports of all calls but the first, which traces and has no cause."""
    first, *calls = map(truth_of, report.calls)
    assert first == ""
    return tuple(calls)


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_call_is_reported_as_constructed(name):
    situation = SITUATIONS[name]
    report = jaxmeter.retraces(situation.fn, situation.calls(), **situation.options)
    assert further(report) == situation.truth
    for call in report.calls:
        assert call.executions_count == call.traces_count == int(call.traced)
        assert call.compiles_count == int(call.compiled) >= int(call.traced)
    assert Retraces.from_json(report.to_json()) == report


@pytest.mark.skipif(jax.__version_info__ < (0, 10), reason="older JAX takes 20 for 20.0")
def test_an_equal_static_value_of_another_type_is_a_different_value():
    calls = [(X, 20), (X, 20.0), (X, 20)]
    report = jaxmeter.retraces(lambda x, n: x * n, calls, static_argnums=1)
    assert further(report) == ("static value of n: 20 -> 20.0", None)


def test_the_cache_of_a_jitted_function_is_cleared_before_the_calls():
    jitted = jax.jit(lambda x, n: x * n, static_argnames="n")
    jitted(X, n=1)
    report = jaxmeter.retraces(jitted, [((X,), {"n": n}) for n in (1, 2, 2)])
    assert further(report) == ("static value of n: 1 -> 2", None)
    assert {call.executions_count for call in report.calls} == {None}


def test_a_case_gives_options_and_the_first_call():
    case = Case(lambda x, n: x * n, (X,), {"n": 1}, jit_options={"static_argnames": "n"})
    report = jaxmeter.retraces(case, [((X,), {"n": 2})])
    assert further(report) == ("static value of n: 1 -> 2",)


def test_padding_is_suggested_only_for_shapes_with_the_same_number_of_axes():
    calls = [(jnp.ones((2, 3)),), (jnp.ones((2, 4)),), (jnp.ones(()),)]
    *_, padded, other = jaxmeter.retraces(lambda x: x * 0.75, calls).calls
    assert padded.causes[0].suggestion.startswith("pad x to one shape")
    assert other.causes[0].suggestion == "give x the same number of axes in every call"


def test_a_nested_function_of_the_same_name_does_not_count():
    def step(x):
        def step(y):
            return y + 1.0

        return jax.jit(step)(x) * 2.0

    report = jaxmeter.retraces(step, [(X,), (X,)])
    assert (report.traces_count, report.compiles_count) == (1, 1)


def test_a_function_that_a_library_applies_to_the_result_does_not_count():
    def doubled(x):
        return 2.0 * x

    class Library(PassesNumbers):
        def __call__(self, x, then=abs):
            return then(self.jitted(x))

    report = jaxmeter.retraces(Library(lambda x: x * 0.5), [(X,), (X, jax.jit(doubled)), (Y,)])
    assert further(report) == (None, "shape of x: (3,) -> (4,)")


def test_programs_from_the_persistent_cache_are_counted_separately(persistent_cache):
    cached = lambda x: jnp.cos(x) * 1.25  # noqa: E731
    first, second = (jaxmeter.retraces(cached, [(X,)]) for _ in range(2))
    assert (first.compiles_count, first.cache_hits_count) == (1, 0)
    assert (second.compiles_count, second.cache_hits_count) == (0, 1)
    assert "traced and taken from the persistent cache" in jaxmeter.table(second)


def test_a_filter_jit_of_equinox_is_retraced_for_another_python_number_or_shape():
    eqx = pytest.importorskip("equinox")
    scaled = eqx.filter_jit(lambda x, factor, other: x * factor + other)
    numbers = [(2.0, 1.0), (3.0, 1.0), (3.0, 1.0)]
    calls = [*((X, *pair) for pair in numbers), (jnp.ones(4), *numbers[-1])]
    report = jaxmeter.retraces(scaled, calls)
    assert further(report) == (
        "static number of factor: 2.0 -> 3.0",  # equinox makes Python numbers static
        None,
        "shape of x: (3,) -> (4,)",
    )
    suggestion = report.calls[1].causes[0].suggestion
    assert suggestion.startswith("pass factor as an array, jnp.asarray(factor)")


def test_an_array_in_place_of_a_static_number_is_a_cause_and_an_equal_number_is_none():
    scaled = pytest.importorskip("equinox").filter_jit(lambda x, factor: x * (factor % 7))

    def calls():
        for factor in (2, jnp.asarray(2), 2.5, np.float64(2.5), 2**100):
            yield X, factor
        with jax.default_matmul_precision("float32"):
            yield X, 2.0

    assert further(jaxmeter.retraces(scaled, calls())) == (
        "static number of factor: 2 -> int64[]",
        "static number of factor: int64[] -> 2.5",
        "static number of factor: 2.5 -> float64[]",
        f"static number of factor: float64[] -> {2**100}",
        "option jax_default_matmul_precision: None -> 'float32'",  # compared with the number 2
    )


def test_seconds_come_from_the_clock():
    ticks = iter(range(10))
    report = jaxmeter.retraces(jnp.sin, [(X,), (X,)], clock=lambda: next(ticks))
    assert [call.seconds for call in report.calls] == [1, 1]


def test_an_exception_has_a_note_with_the_number_of_the_call():
    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        jaxmeter.retraces(lambda x, n: x if n else -x, [(X, True)])
    note, advice = caught.value.__notes__[-2:]
    assert note == "jaxmeter.retraces: raised by <lambda> in call 0, which got (float64[3], True)"
    assert advice.startswith("try: if Python needs the value of an argument, make the argument s")
    assert caught.traceback[-1].path == Path(__file__)


@pytest.mark.parametrize(
    ("before", "now", "kind"),
    [
        (jnp.tanh, jnp.sin, "static value"),
        (jax.jit(lambda x: x + 1), jax.jit(lambda x: x + 2), "static value"),
        (jax.jit(scaled), jax.jit(scaled, inline=True), "new object"),
    ],
)
def test_a_jitted_function_is_made_again_only_if_its_code_is_the_same(before, now, kind):
    calls = [(X, before), (X, now)]
    report = jaxmeter.retraces(lambda x, apply: apply(x), calls, static_argnums=1)
    assert [cause.kind for cause in report.calls[1].causes] == [kind]


def scaled_by(factor):
    def again(x, depth=0):  # the function holds itself
        return again(x, depth + 1) if depth < 2 else x * factor

    return again


class ScaledBy:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x, bias=0.0):
        return x * self.factor + bias


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (scaled_by, "factor in apply"),
        (lambda factor: jax.jit(scaled_by(factor)), "factor in apply"),
        (lambda factor: functools.partial(scaled_by(factor), depth=2), "factor in apply.func"),
        (lambda factor: lambda x, n=factor: x * n, "n in apply"),
        (lambda factor: ScaledBy(factor).__call__, "apply.__self__.factor"),
        (ScaledBy, "apply.factor"),
    ],
    ids=["closure", "jitted", "partial", "default", "method", "object"],
)
def test_an_object_made_again_with_another_value_is_a_changed_value(make, path):
    calls = [(X, make(factor)) for factor in (1.0, 2.0, 2.0)]
    report = jaxmeter.retraces(lambda x, apply: apply(x), calls, static_argnums=1)
    changed, again = further(report)
    assert changed == f"static value of {path}: 1.0 -> 2.0"
    assert str(again).startswith("apply: ") and str(again).endswith(", made again")


class ObjectsIn:
    """An object that holds two objects in a container, and values that do not equal themselves."""

    def __init__(self, container, factor):
        self.held = container([ScaledBy(1.0), ScaledBy(factor)])
        self.arrays = [X + 1.0, np.arange(3)]
        self.key, self.limit, self.odd = jax.random.key(0), float("nan"), Odd()
        self.linked = None
        for _ in range(2000):
            self.linked = ScaledBy(self.linked)

    def __call__(self, x):
        return x


class Odd:
    def __getattr__(self, name):
        raise KeyError(name)


@pytest.mark.parametrize(
    ("container", "path"),
    [(list, "[1]"), (tuple, "[1]"), (lambda objects: {"a": objects[0], "b": objects[1]}, "['b']")],
    ids=["list", "tuple", "dict"],
)
def test_objects_in_containers_are_searched_and_equal_content_is_no_changed_value(container, path):
    calls = [(X, ObjectsIn(container, factor)) for factor in (1.0, 2.0, 2.0)]
    with jaxmeter.watch() as watched:
        report = jaxmeter.retraces(lambda x, apply: apply(x), calls, static_argnums=1)
    changed, again = further(report)
    assert changed == f"static value of apply.held{path}.factor: 1.0 -> 2.0"
    assert again == "apply: a ObjectsIn, made again"
    assert {one.name for one in watched.report.functions} == {"<lambda>"}  # JAX compares no array


def test_the_suggestion_for_closures_made_again_covers_a_shared_variable_that_changes():
    def calls():
        for factor in (1.0, 2.0):
            yield X, lambda x: x * factor  # noqa: B023

    report = jaxmeter.retraces(lambda x, apply: apply(x), calls(), static_argnums=1)
    assert str(further(report)[0]).endswith(", made again")
    assert "if apply uses a variable that changes between calls" in report.suggestions[0]


def test_another_array_in_a_static_function_is_a_changed_value():
    calls = [(X, scaled_by(factor)) for factor in (X, X + 0.0, X + 1.0)]
    report = jaxmeter.retraces(lambda x, apply: apply(x), calls, static_argnums=1)
    again, changed = further(report)
    assert str(again).endswith(", made again")
    assert changed == "static value of factor in apply: float64[3] -> another float64[3]"


def test_values_that_cannot_be_compared_are_different():
    class Odd:
        def __eq__(self, other):
            raise TypeError("no")

        def __hash__(self):
            return 3

    before, now = (signature(abs, (Odd(),), {}, ((0,), ())) for _ in range(2))
    _, (difference,) = causes(now, [before])
    assert (difference.kind, difference.argument) == ("static value", "x")


def test_a_changed_static_attribute_of_an_argument_has_its_own_advice():
    report = jaxmeter.retraces(applied, [(Layer(X, 1),), (Layer(X, 2),)])
    (cause,) = report.calls[1].causes
    assert cause.kind == "structure"
    assert "equal static attributes (model.train() and model.eval()" in cause.suggestion


def test_text_and_markdown_show_causes_and_suggestions():
    ticks = iter(np.arange(0.0, 10.0, 0.5))
    report = jaxmeter.retraces(scaled, [(X, 1), (X, 2), (X, 2.0)], clock=lambda: next(ticks))
    assert jaxmeter.table(report).splitlines() == [
        "scaled: 3 calls, 2 traces, 2 compiles",
        "  call  action                 time  compared with",
        "     0  traced and compiled  500 ms",
        "     2  traced and compiled  500 ms  call 1",
        "      dtype of factor: int64 -> float64",
        "     1  ran                  500 ms",
        "suggestions:",
        "  - convert factor to one dtype before the call",
    ]
    lines = jaxmeter.markdown(report).splitlines()
    assert lines[4:7] == [
        "| 0 | traced and compiled | 500 ms |  |  |",
        "| 2 | traced and compiled | 500 ms | call 1 | `dtype of factor: int64 -> float64` |",
        "| 1 | ran | 500 ms |  |  |",
    ]
    assert lines[-1] == "- convert factor to one dtype before the call"


def test_long_reports_are_cut_short():
    report = jaxmeter.retraces(lambda x, n: x, [(X, 1), (X, 2)], static_argnums=1)
    report = dataclasses.replace(report, calls=report.calls * 11)
    assert "  and 2 more" in jaxmeter.table(report).splitlines()
    many = [tuple(jnp.ones(n) for _ in range(7)) for n in (1, 2)]
    text = jaxmeter.table(jaxmeter.retraces(lambda *args: args[0], many))
    assert "  call 0\n      shape of args[0]: (1,) -> (2,)\n" in text
    assert "and 3 more lines" in text
