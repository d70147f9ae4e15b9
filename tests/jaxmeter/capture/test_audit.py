"""An audit names each captured array's holder, the lines that use it, and the remedy."""

import dataclasses
import functools
import re
import runpy
from collections import defaultdict
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
from jaxmeter import Audit, Case, RecordError
from jaxmeter._capture.functions import named_arguments
from tests.jaxmeter.capture import held_situations
from tests.jaxmeter.capture.capture_situations import MARK, marked_lines, measured
from tests.jaxmeter.capture.capture_situations import SITUATIONS as CAPTURED
from tests.jaxmeter.capture.held_situations import HELD

HERE = Path(__file__).parent
EQUINOX = [name for name in HELD if name.startswith("equinox")]


def lines(audited):
    """Return the lines of each path in an audit."""
    found = defaultdict(set)
    for array in audited.arrays:
        found[array.path] |= {use.line for use in array.uses}
    return found


@pytest.mark.parametrize("name", CAPTURED)
def test_each_captured_array_has_its_path_its_lines_and_its_count(name):
    situation = CAPTURED[name]
    audited = measured(name).audit
    assert sorted((a.bytes, a.path) for a in audited.arrays) == sorted(
        zip(situation.captured, situation.paths, strict=True)
    )
    assert {a.match for a in audited.arrays} <= {"same", situation.match}
    assert lines(audited) == marked_lines(name)
    assert {use.file for a in audited.arrays for use in a.uses} <= {
        str(HERE / "capture_situations.py")
    }
    assert audited.embedded_bytes == sum(situation.embedded)
    known = sum(a.bytes * a.embedded_count for a in audited.arrays)
    # The tables of JAX's random generator are not captured arrays.
    assert known == sum(size for size in situation.embedded if size in situation.captured)


@pytest.mark.parametrize("name", HELD)
def test_the_path_and_the_lines_of_an_array_are_found_however_it_is_held(name):
    held = HELD[name]
    audited = jaxmeter.audit(held.fn, jnp.ones(3), threshold_bytes=100)
    (array,) = audited.arrays
    assert (array.path, array.match, array.argument) == (held.path, held.match, held.argument)
    counts = (array.bytes, array.embedded_count, array.hidden_count)
    assert counts == (held_situations.CUBE_BYTES, 1, 0)
    assert array.verdict == "large"
    assert held.argument in array.suggestion
    file = HERE / "held_situations.py"
    text = file.read_text().splitlines()
    marked = {number for number, line in enumerate(text, 1) if name in marked_names(line)}
    assert {use.line for use in array.uses} == marked
    assert {use.file for use in array.uses} == {str(file)}


def marked_names(line):
    names = MARK.search(line)
    # All situations of equinox use one layer.
    return EQUINOX if names and names[1] == "equinox" else names[1].split(", ") if names else ()


@pytest.mark.skipif("equinox_module" not in HELD, reason="needs equinox")
def test_arrays_that_equinox_passes_to_its_jit_are_not_captured():
    audited = jaxmeter.audit(held_situations.equinox_jit_of_a_module(), jnp.ones(3))
    assert (audited.captured_bytes, audited.embedded_bytes) == (0, 0)


@pytest.mark.skipif("equinox_module" not in HELD, reason="needs equinox")
def test_a_network_of_equinox_is_audited_as_counted_by_hand():
    import equinox as eqx

    network = eqx.nn.MLP(64, 64, 512, 3, key=jax.random.key(0), dtype=jnp.float32)
    x = jnp.ones(64, jnp.float32)
    audited = jaxmeter.audit(lambda x: network(x), x)
    numbers = {"weight": (512 * 64, 512**2, 512**2, 64 * 512), "bias": (512, 512, 512, 64)}
    assert {array.path: array.bytes for array in audited.arrays} == {
        f"network.layers[{layer}].{name}": count * 4
        for name, counts in numbers.items()
        for layer, count in enumerate(counts)
    }
    # As the README says.
    assert audited.embedded_bytes == audited.captured_bytes == 591_424 * 4 == 2_365_696
    assert [array.embedded_count for array in audited.arrays] == [1] * 8
    passed = jaxmeter.audit(eqx.filter_jit(network), x)
    assert (passed.arrays, passed.embedded_bytes) == ((), 0)
    assert {use.file for array in audited.arrays for use in array.uses} == {__file__}
    assert all("_linear.py" in use.within for array in audited.arrays for use in array.uses)
    # A network holds functions, which jax.jit refuses among its arguments.
    advice = "give <lambda> an argument network and pass network in the call, under equinox.filter"
    assert audited.suggestions[0].startswith(advice)
    (advice,) = jaxmeter.audit(network, x).suggestions
    assert advice.startswith("use equinox.filter_jit in place of jax.jit")


@pytest.fixture
def weights():
    return jnp.asarray(np.random.default_rng(1).normal(size=(20, 10)))


def test_a_variable_is_judged_by_all_its_embedded_arrays():
    layers = [jnp.asarray(np.random.default_rng(n).normal(size=10)) for n in range(6)]
    small = jnp.arange(5.0)

    def step(x):
        return sum((layer * x).sum() for layer in layers) + small.sum()

    audited = jaxmeter.audit(step, jnp.ones(10), threshold_bytes=6 * 80 - 1)
    assert {a.path: a.verdict for a in audited.arrays} == {"small": "fine"} | {
        f"layers[{n}]": "large" for n in range(6)
    }
    assert audited.verdict == "large"
    (advice,) = audited.suggestions
    assert advice.startswith("give step an argument layers and pass layers in the call: 480 B")
    assert jaxmeter.audit(step, jnp.ones(10), threshold_bytes=6 * 80).verdict == "fine"
    assert jaxmeter.audit(step, jnp.ones(10)).suggestions == ()


def test_each_occurrence_counts_towards_the_threshold(weights):
    def step(x):
        return jax.jit(lambda y: weights @ y)(x) + weights @ x

    (array,) = jaxmeter.audit(step, jnp.ones(10), threshold_bytes=weights.nbytes).arrays
    assert (array.embedded_count, array.verdict) == (2, "large")


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint16", "bfloat16", "float8_e4m3fn", "float32", "float64", "complex128"],
)
def test_arrays_of_one_shape_are_counted_to_the_byte_and_separately_in_every_dtype(dtype):
    first, second = (jnp.asarray((np.arange(40) + n) % 2).astype(dtype) for n in range(2))

    def step(i):
        return first[i], second[i], jax.jit(lambda j: first[j])(i)

    audited = jaxmeter.audit(step, 3)
    assert {a.path: a.embedded_count for a in audited.arrays} == {"first": 2, "second": 1}
    item_bytes = int(re.findall(r"\d+", dtype)[0]) // 8 if dtype != "bool" else 1
    assert audited.captured_bytes == 2 * 40 * item_bytes
    assert audited.embedded_bytes == 3 * 40 * item_bytes


def test_a_large_array_is_counted_without_comparing_its_values():
    table = jnp.asarray(np.random.default_rng(0).normal(size=200_000))
    (array,) = jaxmeter.audit(lambda i: table[i], 3).arrays
    assert (array.embedded_count, array.verdict) == (1, "large")


def test_a_line_in_an_installed_package_is_shown_with_the_line_that_calls_it(tmp_path, monkeypatch):
    monkeypatch.setattr("jaxmeter._program.places._INSTALLED", (str(tmp_path),))
    package = tmp_path / "layers.py"
    package.write_text("def apply(weights, x):\n    return weights @ x\n")
    layers = runpy.run_path(str(package))
    held = jnp.ones((2, 3))
    here = lambda x: layers["apply"](held, x)  # noqa: E731
    ((use,),) = (array.uses for array in jaxmeter.audit(here, jnp.ones(3)).arrays)
    assert (use.file, use.line) == (__file__, here.__code__.co_firstlineno)
    assert use.within == f"{package}:2"


def test_a_global_that_was_replaced_since_the_last_trace_is_read_again():
    names: dict[str, Any] = {"table": jnp.arange(3.0)}
    exec("def step(x):\n    return table * x", names)
    step = names["step"]
    assert jax.jit(step)(jnp.ones(3)).shape == (3,)
    names["table"] = jnp.arange(7.0)
    (array,) = jaxmeter.audit(step, jnp.ones(())).arrays
    assert (array.path, array.shape) == ("table", (7,))


class Exploding:
    """An object with one readable member."""

    def __init__(self, weights):
        self.weights = weights

    def __getattr__(self, name):
        raise ValueError(f"no {name} here")


class ExplodingMapping(dict):
    def __getitem__(self, key):
        raise ValueError("no items here")


def test_objects_that_cannot_be_inspected_do_no_harm(weights):
    hidden, shown, numbers = ExplodingMapping(a=weights), Exploding(weights), list(range(10**6))

    def step(x):
        return shown.weights @ x + len(hidden) + numbers[3]

    (array,) = jaxmeter.audit(step, jnp.ones(10)).arrays
    assert array.path == "shown.weights"


@pytest.mark.parametrize(
    ("make", "call"),
    [
        (lambda model: model.apply, "lambda self, *args: self.apply(*args)"),
        (lambda model: model, "lambda self, *args: self(*args)"),
    ],
)
def test_the_advice_on_an_object_shows_the_call_to_jit(weights, make, call):
    model = held_situations.Model([weights])
    audited = jaxmeter.audit(make(model), jnp.ones(10), threshold_bytes=0)
    assert call in audited.suggestions[0]


@pytest.mark.parametrize("name", ["class_attribute", "class_method", "class_in_a_function"])
def test_the_advice_on_a_class_is_to_pass_its_arrays(name):
    audited = jaxmeter.audit(HELD[name].fn, jnp.ones(3), threshold_bytes=0)
    (advice,) = audited.suggestions
    assert "an argument for the arrays of the class Model, and pass them in the call: " in advice
    assert "self" not in advice


def test_arguments_may_be_shapes_and_a_case_gives_options(weights):
    case = Case(
        lambda x, *, n: n * (weights @ x),
        (jax.ShapeDtypeStruct((10,), "float64"),),
        {"n": 2},
        {"static_argnames": "n"},
    )
    assert [array.path for array in jaxmeter.audit(case).arrays] == ["weights"]


def test_the_arguments_of_a_decorated_method_are_named_without_self():
    def decorated(fn):
        return functools.wraps(fn)(lambda *args: fn(*args))

    class Model:
        @decorated
        def step(self, params, *rest):
            raise NotImplementedError

    assert named_arguments(Model().step, (1, 2), {}) == {"params": 1, "rest[0]": 2}


@pytest.mark.parametrize("text", ["", "[]", '{"name": 3}'])
def test_text_that_is_not_an_audit_is_refused(text):
    with pytest.raises(RecordError, match="give the output of Audit.to_json"):
        Audit.from_json(text)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["fn"])
@dataclasses.dataclass
class Layer:
    w: Any
    fn: Any


@pytest.mark.parametrize("where", ["closure", "default"])
def test_an_array_of_a_function_in_an_argument_belongs_to_the_argument(where):
    scale = np.random.default_rng(0).random((300, 300))
    fn = (lambda x: scale @ x) if where == "closure" else (lambda x, scale=scale: scale @ x)

    def apply(layer, x):
        return layer.fn(x) * layer.w

    (found,) = jaxmeter.audit(apply, Layer(jnp.ones(300), fn), jnp.ones(300)).arrays
    assert found.argument == "layer" and found.path.startswith(f"{where} of ")
