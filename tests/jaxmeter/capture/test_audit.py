"""An audit names the path of each captured array, the lines that use the array, and the remedy."""

import dataclasses
import functools
import math
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
from jaxmeter import Audit, RecordError
from jaxmeter._capture.functions import named_arguments
from tests.jaxmeter.capture import held_situations
from tests.jaxmeter.capture.capture_situations import SITUATIONS as CAPTURED
from tests.jaxmeter.capture.capture_situations import marked_lines, measured
from tests.jaxmeter.capture.held_situations import HELD, X

HERE = Path(__file__).parent
OF_THE_CLASS = "an argument for the arrays of the class Model, and pass them in the call: "
# By situation: a part of the suggestion; by default the name of the argument.
ADVICE = {
    "bound_method": "lambda self, *args: self.apply(*args)",
    "object_that_is_called": "lambda self, *args: self(*args)",
    **dict.fromkeys(("class_attribute", "class_method", "class_in_a_function"), OF_THE_CLASS),
}


def lines(audited):
    """Return the lines of each path in an audit."""
    found = defaultdict(set)
    for array in audited.arrays:
        found[array.path] |= {use.line for use in array.uses}
    return found


@pytest.mark.parametrize("name", CAPTURED)
def test_each_captured_array_has_its_path_its_lines_and_its_count(name):
    situation = CAPTURED[name]
    counted, audited = measured(name).constants, measured(name).audit
    assert sorted(array.bytes for array in counted.arrays) == sorted(situation.captured)
    for found in (counted, audited):
        assert found.captured_bytes == sum(situation.captured)
        assert found.embedded_bytes == sum(situation.embedded)
        assert found.embedded_count == len(situation.embedded)
        assert found.hidden_argument_bytes == 0
    assert sorted((a.bytes, a.path) for a in audited.arrays) == sorted(
        zip(situation.captured, situation.paths, strict=True)
    )
    assert {a.match for a in audited.arrays} <= {"same", situation.match}
    assert lines(audited) == marked_lines(name)
    assert {use.file for a in audited.arrays for use in a.uses} <= {
        str(HERE / "capture_situations.py")
    }
    known = sum(a.bytes * a.embedded_count for a in audited.arrays)
    # The tables of JAX's random generator are not captured arrays.
    assert known == sum(size for size in situation.embedded if size in situation.captured)


@pytest.mark.parametrize("name", HELD)
def test_an_array_is_found_by_its_path_and_hoisted_from_every_kind_of_holder(name):
    held = HELD[name]
    audited = jaxmeter.audit(held.fn, X, threshold_bytes=100)
    (array,) = audited.arrays
    assert (array.path, array.match, array.argument) == (held.path, held.match, held.argument)
    counts = (array.bytes, array.embedded_count, array.hidden_count)
    assert counts == (held_situations.CUBE_BYTES, 1, 0)
    assert array.verdict == "large"
    assert ADVICE.get(name, held.argument) in array.suggestion
    assert ("self" in array.suggestion) == (held.argument == "self")
    assert {use.file for use in array.uses} == {held_situations.__file__}
    hoisted, constants = jaxmeter.hoist(held.fn, X)
    assert list(constants) == [held.path or "constant 0"]
    assert jaxmeter.audit(hoisted, constants, X).captured_bytes == 0


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
    # The README has these numbers.
    assert audited.embedded_bytes == audited.captured_bytes == 591_424 * 4 == 2_365_696
    assert [array.embedded_count for array in audited.arrays] == [1] * 8
    passed = jaxmeter.audit(eqx.filter_jit(network), x)
    assert (passed.arrays, passed.embedded_bytes) == ((), 0)
    assert {use.file for array in audited.arrays for use in array.uses} == {__file__}
    assert all("_linear.py" in use.within for array in audited.arrays for use in array.uses)
    # A network holds functions, which jax.jit refuses among its arguments.
    advice = "give <lambda> an argument network and pass network in the call, and use equinox.filt"
    assert audited.suggestions[0].startswith(advice)
    (advice,) = jaxmeter.audit(network, x).suggestions
    assert advice.startswith("use equinox.filter_jit in place of jax.jit")


def test_a_variable_is_judged_by_all_its_embedded_arrays():
    layers = [jnp.asarray(np.random.default_rng(n).normal(size=10)) for n in range(6)]
    small = jnp.arange(5.0)

    def step(x):
        again = jax.jit(lambda y: layers[0] @ y)(x)  # layers[0] is embedded twice
        return sum((layer * x).sum() for layer in layers) + small.sum() + again

    audited = jaxmeter.audit(step, jnp.ones(10), threshold_bytes=7 * 80 - 1)
    assert {a.path: a.verdict for a in audited.arrays} == {"small": "fine"} | {
        f"layers[{n}]": "large" for n in range(6)
    }
    assert audited.verdict == "large"
    (advice,) = audited.suggestions
    assert advice.startswith("give step an argument layers and pass layers in the call: 560 B")
    assert jaxmeter.audit(step, jnp.ones(10), threshold_bytes=7 * 80).verdict == "fine"
    assert jaxmeter.audit(step, jnp.ones(10)).suggestions == ()


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint16", "bfloat16", "float16", "float8_e4m3fn", "float32", "complex128"],
)
def test_arrays_of_one_shape_are_counted_to_the_byte_and_separately_in_every_dtype(dtype):
    first, second = (jnp.asarray((np.arange(40) + n) % 2).astype(dtype) for n in range(2))
    equal = jnp.ones(40, dtype)  # arrays of equal elements are not embedded

    def step(i):
        return first[i], second[i], jax.jit(lambda j: first[j])(i), equal[i]

    audited = jaxmeter.audit(step, 3)
    counts = {array.path: array.embedded_count for array in audited.arrays}
    assert counts == {"first": 2, "second": 1, "equal": 0}
    item_bytes = int(re.findall(r"\d+", dtype)[0]) // 8 if dtype != "bool" else 1
    assert audited.captured_bytes == 3 * 40 * item_bytes
    assert audited.embedded_bytes == 3 * 40 * item_bytes


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_numpy_arrays_with_new_and_with_repeated_axes_are_counted(dtype):
    table = np.random.default_rng(0).normal(size=(6, 5)).astype(dtype)
    column, repeated = table[:, None], np.broadcast_to(2 * table[:, None], (3, 6, 4, 5))
    audited = jaxmeter.audit(lambda i: (jnp.asarray(column)[i], jnp.asarray(repeated)[i]), 0)
    found = {a.path: (a.embedded_count, a.embedded_bytes, a.bytes) for a in audited.arrays}
    # JAX embeds the table, and repeats it later.
    assert found == {
        "column": (1, table.nbytes, table.nbytes),
        "repeated": (1, table.nbytes, 12 * table.nbytes),
    }
    assert audited.other_bytes == 0
    assert f"embedded once, as {table.nbytes} B" in jaxmeter.table(audited)
    jaxmeter.audit(lambda x: x + np.broadcast_to(np.zeros((1, 0)), (3, 0)), np.ones(0))


def test_a_global_that_was_replaced_since_the_last_trace_is_read_again():
    names: dict[str, Any] = {"table": jnp.arange(3.0)}
    exec("def step(x):\n    return table * x", names)
    step = names["step"]
    assert jax.jit(step)(jnp.ones(3)).shape == (3,)
    names["table"] = jnp.arange(7.0)
    (array,) = jaxmeter.audit(step, jnp.ones(())).arrays
    assert (array.path, array.shape) == ("table", (7,))


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
def test_an_array_held_by_a_function_in_an_argument_belongs_to_the_argument(where):
    scale = np.random.default_rng(0).random((300, 300))
    fn = (lambda x: scale @ x) if where == "closure" else (lambda x, scale=scale: scale @ x)

    def apply(layer, x):
        return layer.fn(x) * layer.w

    (found,) = jaxmeter.audit(apply, Layer(jnp.ones(300), fn), jnp.ones(300)).arrays
    assert found.argument == "layer" and found.path.startswith(f"{where} of ")


@jax.tree_util.register_pytree_node_class
class Weights:
    def __init__(self, w):
        self.w = w

    def tree_flatten(self):
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)

    def loss(self, x):
        return (self.w @ x).sum()

    def power(self, x, n, *, scale=2.0):
        return math.prod(n * [self.w @ x]) * scale

    @functools.partial(jax.jit, static_argnums=(0, 2))
    def jitted_power(self, x, n, scale=2.0):
        return self.power(x, n, scale=scale)

    def shifted(self, x):
        return x + self.w[0]

    unnamed = lambda self, x: self.w @ x  # noqa: E731

    def __call__(self, x):
        return 2.0 * self.loss(x)


@pytest.mark.parametrize("target", ["self", "self.loss"])
@pytest.mark.parametrize(
    ("wrap", "args"),
    [
        (lambda fn: fn, (X,)),
        (jax.jit, (X,)),
        (jax.checkpoint, (X,)),
        (jax.value_and_grad, (X,)),
        (lambda fn: jax.jit(jax.vmap(fn)), (jnp.ones((2, 3)),)),
        (lambda fn: functools.partial(fn, X), ()),
    ],
    ids=["plain", "jit", "checkpoint", "value_and_grad", "jit_of_vmap", "partial"],
)
def test_the_example_for_a_transformed_method_or_object_runs_and_gives_its_answer(
    target, wrap, args
):
    self = Weights(jnp.asarray(held_situations.HOST))
    fn = wrap(eval(target, {"self": self}))
    (advice,) = jaxmeter.audit(fn, *args, threshold_bytes=100).suggestions
    example = re.search(r"such as (jax\.jit\(.*\*args\)\)),", advice)
    assert example and target in example[1]
    new = eval(example[1], {"jax": jax, "wrap": wrap})
    jax.tree.map(np.testing.assert_allclose, new(self, *args), fn(*args))
    assert jaxmeter.audit(new, self, *args).embedded_bytes == 0


@pytest.mark.parametrize(
    ("args", "kwargs", "options"),
    [((X, 3), {"scale": 4.0}, {"static_argnums": 1}), ((X,), {"n": 3}, {"static_argnames": "n"})],
)
@pytest.mark.parametrize("how", ["Case", "jit", "jitted method"])
def test_the_example_for_a_method_keeps_its_keyword_and_static_arguments(
    how, args, kwargs, options
):
    self = Weights(jnp.asarray(held_situations.HOST))
    jitted = self.jitted_power if how == "jitted method" else jax.jit(self.power, **options)
    case = jaxmeter.Case(jitted, args, kwargs)
    if how == "Case":
        case = dataclasses.replace(case, fn=self.power, jit_options=options)
    (advice,) = jaxmeter.audit(case, threshold_bytes=100).suggestions
    example = re.search(r"such as (jax\.jit\(.*\)), and make", advice)
    assert example
    new = eval(example[1], {"jax": jax})
    np.testing.assert_array_equal(new(self, *args, **kwargs), jitted(*args, **kwargs))
    assert jaxmeter.audit(new, self, *args, **kwargs).embedded_bytes == 0


def test_the_example_for_a_method_donates_the_arguments_that_were_donated():
    self = Weights(jnp.asarray(held_situations.HOST))
    fn = jax.jit(self.shifted, donate_argnums=0)
    (advice,) = jaxmeter.audit(fn, X, threshold_bytes=100).suggestions
    assert "jax.jit(lambda self, *args: self.shifted(*args), donate_argnums=(1,))" in advice


@pytest.mark.parametrize("how", ["Case", "jit", "jitted method"])
def test_the_example_for_a_method_names_the_other_options_of_the_jit(how):
    options: Any = {"out_shardings": jax.sharding.SingleDeviceSharding(jax.devices()[0])}
    options |= {"compiler_options": {"xla_embed_ir_in_executable": True}}

    class Jitted(Weights):
        shifted: Any = jax.jit(Weights.shifted, **options, static_argnums=0, donate_argnums=1)

    self = (Jitted if how == "jitted method" else Weights)(jnp.asarray(held_situations.HOST))
    options |= {"donate_argnums": 0}
    fn = jax.jit(self.shifted, **options) if how == "jit" else self.shifted
    case = jaxmeter.Case(fn, (X,), jit_options=options if how == "Case" else {})
    (advice,) = jaxmeter.audit(case, threshold_bytes=100).suggestions
    donated = "..." if how == "jitted method" else "(1,)"
    shown = f"(*args), donate_argnums={donated}, out_shardings=..., compiler_options=...)"
    assert shown in advice


def test_the_suggestion_for_a_method_without_an_attribute_of_its_name_has_no_example():
    fn = Weights(jnp.asarray(held_situations.HOST)).unnamed
    (advice,) = jaxmeter.audit(fn, X, threshold_bytes=100).suggestions
    assert advice.startswith("jit a function that takes self as an argument, and make the class")


def test_an_array_that_is_not_found_may_have_been_made_before_the_call():
    cached = functools.cache(lambda: jnp.asarray(held_situations.HOST[::-1]))
    cached()
    audited = jaxmeter.audit(lambda x: cached() @ x, X, threshold_bytes=100)
    assert [(array.path, array.match) for array in audited.arrays] == [("", "unknown")]
    assert "made while tracing, or held elsewhere" in jaxmeter.table(audited)
    assert "if <lambda> makes the array while it is traced" in audited.suggestions[0]


@pytest.mark.parametrize(
    "held",
    [["a", "b", "c"], np.zeros(3, "f8,i4"), [3 + 1j, 4.0, 5.0], [3.5, 4.5, 5.5]],
    ids=["strings", "records", "complex", "fractions"],
)
def test_an_array_is_not_equal_to_a_held_array_that_loses_values_in_a_conversion(held):
    held = np.asarray(held)
    dtype = int if held.dtype == float else float
    audited = jaxmeter.audit(
        lambda x: (len(held), x[0].astype(dtype) * jnp.array([3, 4, 5], dtype)), X
    )
    assert [(array.path, array.match) for array in audited.arrays] == [("", "unknown")]


@pytest.mark.parametrize(
    ("held", "dtype"), [([3, 4, 5], "uint8"), ([3.0, 4.0, 5.0], "int32"), ([0, 1, 1], "bool")]
)
def test_an_array_is_equal_to_a_held_array_that_keeps_its_values_in_a_conversion(held, dtype):
    held = np.asarray(held)
    audited = jaxmeter.audit(lambda i: (len(held), jnp.asarray(held, dtype)[i])[1], 0)
    assert [(array.path, array.match) for array in audited.arrays] == [("held", "equal")]


def test_a_view_of_one_column_is_not_a_view_of_the_other_column():
    table = np.random.default_rng(0).normal(size=(9, 2))
    first, second = table.T
    audited = jaxmeter.audit(lambda x: (len(first), second[1:] * x[0])[1], X)
    assert [(array.path, array.match) for array in audited.arrays] == [("second", "view")]


def test_large_constants_of_an_exported_program_are_shown_and_not_counted_as_a_captured_array():
    host = np.random.default_rng(0).normal(size=(400, 400))  # 1.28 MB
    inside, outside, unused = (jnp.asarray(host + n) for n in range(3))
    x = jnp.ones(400)
    exported = jax.export.export(jax.jit(lambda x: inside @ x))(x)
    audited = jaxmeter.audit(lambda x: exported.call(x), x)
    assert (audited.other_bytes, audited.verdict) == (1_280_000, "large")
    shown = [" ".join(line.split()) for line in jaxmeter.table(audited).splitlines()]
    assert shown[0].startswith("<lambda>: captures no array, embeds 1.28 MB in 1 constant (large;")
    assert shown[2] == "large not captured 1 constant 1,280,000 1.28 MB embedded"
    assert "pass their arrays as arguments of that program: 1.28 MB are" in audited.suggestions[0]
    for used in (True, False):
        step = lambda x: (outside @ exported.call(x), unused @ x)[: 1 + used]  # noqa: B023, E731
        audited = jaxmeter.audit(step, x, threshold_bytes=2_000_000)
        counts = {array.path: array.embedded_count for array in audited.arrays}
        assert counts == {"outside": 1, "unused": int(used)}
        assert (audited.other_bytes, audited.verdict) == (1_280_000, "fine")


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "complex64", "int4"])
def test_a_large_constant_of_an_exported_program_is_not_an_unused_array_of_the_same_type(dtype):
    host = np.random.default_rng(0).integers(-3, 3, (1050 // jnp.dtype(dtype).itemsize, 1000))
    inside, other = (jnp.asarray(host + n).astype(dtype) for n in range(2))
    exported = jax.export.export(jax.jit(lambda i: inside[i]))(0)
    for used in (True, False):
        step = lambda i: (exported.call(i), other[i])[: 1 + used]  # noqa: B023, E731
        audited = jaxmeter.audit(step, 0)
        assert [(array.path, array.embedded_count) for array in audited.arrays] == [("other", used)]
        assert audited.other_bytes == inside.nbytes
