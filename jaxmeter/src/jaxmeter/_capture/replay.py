"""Run a jaxpr and its sub-jaxprs with other values in place of the captured arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import jax
import jax.extend.source_info_util as source_info_util

from jaxmeter._capture.constants import captured_values, identity
from jaxmeter._program.jaxprs import inner, scan_counts, sub_jaxprs
from jaxmeter._render.units import type_text
from jaxmeter.errors import JaxmeterError

Values = Mapping[Hashable, Any]
"""A dictionary from the `identity` of each captured array to the value that replaces the array."""


def replay(closed_jaxpr: Any, values: Values, args: Sequence[Any]) -> list[Any]:
    """Evaluate a jaxpr with ``values`` in place of its captured arrays. JAX may trace this
    function.

    Sub-programs that capture some of these arrays are traced again, with the values as additional
    operands. Functions with a custom derivative are also traced again if their ``num_consts`` is
    above 0. Other sub-programs are used as they are. If an array is captured inside a primitive
    without a rule in this module, or inside a jit with layouts, a `JaxmeterError` is raised.
    """
    body = inner(closed_jaxpr)
    known: dict[Any, Any] = {
        variable: values.get(identity(array), array)
        for variable, array in zip(
            body.constvars, getattr(closed_jaxpr, "consts", ()), strict=False
        )
    }
    known.update(zip(body.invars, args, strict=True))

    def read(atom: Any) -> Any:
        if not hasattr(atom, "val"):
            return known[atom]
        return values.get(identity(atom.val), atom.val) if hasattr(atom.val, "shape") else atom.val

    for equation in body.eqns:
        name, operands = equation.primitive.name, [read(atom) for atom in equation.invars]
        stack = source_info_util.current_name_stack() + equation.source_info.name_stack
        with (
            source_info_util.user_context(equation.source_info.traceback, name_stack=stack),
            equation.ctx.manager,
        ):
            held = _held(equation, values)
            if name in _CUSTOM and (held or equation.params["num_consts"]):
                answers = _custom(equation, operands, held)
            elif not held:
                answers = _bind(equation, operands, equation.params)
            elif name in _RULES:
                answers = _RULES[name](equation, operands, held)
            else:
                raise JaxmeterError(
                    f"hoist: got {', '.join(map(type_text, held.values()))}, captured inside "
                    f"{name}, but hoist cannot add arguments to {name}; pass each captured array "
                    "as an argument in your code"
                )
        known.update(zip(equation.outvars, answers, strict=True))
    return [read(atom) for atom in body.outvars]


def _held(equation: Any, values: Values) -> dict[Hashable, Any]:
    """Return the values that replace the arrays captured in the sub-programs of an equation."""
    return {
        key: values[key]
        for sub in sub_jaxprs(equation)
        for key in captured_values(sub)
        if key in values
    }


def _bind(equation: Any, operands: Sequence[Any], params: Mapping[str, Any]) -> Sequence[Any]:
    bound = equation.primitive.get_bind_params(params)
    # Up to JAX 0.9, `bound` is a pair; in later versions, it contains only the parameters.
    functions, params = bound if isinstance(bound, tuple) else ((), bound)
    answers = equation.primitive.bind(*functions, *operands, **params)
    return answers if equation.primitive.multiple_results else [answers]


def _taking(closed_jaxpr: Any, held: Values) -> Callable[..., list[Any]]:
    """Return a function that replays a jaxpr. The function takes a sequence of values for the
    captured arrays in ``held``, in the order of ``held``, and then the arguments of the jaxpr."""

    def run(values: Sequence[Any], *args: Any) -> list[Any]:
        return replay(closed_jaxpr, dict(zip(held, values, strict=True)), args)

    return run


def _traced_again(closed_jaxpr: Any, held: Values) -> Any:
    """Return a closed jaxpr that takes the values of ``held`` as its first arguments."""
    avals = [variable.aval for variable in inner(closed_jaxpr).invars]
    shapes = [
        jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in avals
    ]
    return jax.make_jaxpr(_taking(closed_jaxpr, held))(list(held.values()), *shapes)


def _jit(equation: Any, operands: Sequence[Any], held: Values) -> Sequence[Any]:
    params = equation.params
    if any(layout is not None for layout in (*params["in_layouts"], *params["out_layouts"])):
        raise JaxmeterError(
            f"hoist: got jit({params['name']}) with layouts of its arguments or results, "
            "which hoist cannot keep; remove these layouts from jax.jit"
        )
    run = _taking(params["jaxpr"], held)
    run.__name__ = params["name"]
    into, out = (
        [one if isinstance(one, jax.sharding.Sharding) else None for one in params[name]]
        for name in ("in_shardings", "out_shardings")
    )
    options: dict[str, Any] = {"in_shardings": (None, *into)} if any(into) else {}
    options |= {"out_shardings": out} if any(out) else {}
    jitted = jax.jit(run, keep_unused=params["keep_unused"], **options)
    return jitted(list(held.values()), *operands)


def _scan(equation: Any, operands: Sequence[Any], held: Values) -> Sequence[Any]:
    params = equation.params
    consts_count, carries_count = scan_counts(params)
    consts = operands[:consts_count]
    carries = operands[consts_count:][:carries_count]

    def body(carries: Sequence[Any], items: Sequence[Any]) -> tuple[Any, Any]:
        answers = replay(params["jaxpr"], held, (*consts, *carries, *items))
        return answers[:carries_count], answers[carries_count:]

    names = ("length", "reverse", "unroll", "_split_transpose")
    carries, items = jax.lax.scan(
        body,
        list(carries),
        list(operands[consts_count + carries_count :]),
        **{name: params[name] for name in names if name in params},
    )
    return [*carries, *items]


def _while(equation: Any, operands: Sequence[Any], held: Values) -> Sequence[Any]:
    params = equation.params
    tests_count, bodies_count = params["cond_nconsts"], params["body_nconsts"]
    tests = operands[:tests_count]
    bodies = operands[tests_count:][:bodies_count]
    return jax.lax.while_loop(
        lambda state: replay(params["cond_jaxpr"], held, (*tests, *state))[0],
        lambda state: replay(params["body_jaxpr"], held, (*bodies, *state)),
        list(operands[tests_count + bodies_count :]),
    )


def _cond(equation: Any, operands: Sequence[Any], held: Values) -> Sequence[Any]:
    index, *others = operands
    branches = [
        lambda *args, jaxpr=jaxpr: replay(jaxpr, held, args)
        for jaxpr in equation.params["branches"]
    ]
    return jax.lax.switch(index, branches, *others)


def _remat(equation: Any, operands: Sequence[Any], held: Values) -> Sequence[Any]:
    # Bind the primitive, because jax.checkpoint would lose the parameter ``differentiated``.
    jaxpr = inner(_traced_again(equation.params["jaxpr"], held))
    return _bind(equation, [*held.values(), *operands], equation.params | {"jaxpr": jaxpr})


@jax.custom_jvp
def _not_differentiated(value: Any) -> Any:
    """Return a value unchanged. Any derivative with respect to it raises a `JaxmeterError`."""
    return value


@_not_differentiated.defjvp
def _(primals: Sequence[Any], _: Sequence[Any]) -> Any:
    raise JaxmeterError(
        "hoist: cannot differentiate with respect to the captured array "
        f"{type_text(primals[0])}: a function with a custom derivative captures this array, and "
        "the derivative rule of the function does not give the derivative with respect to the "
        "array; make the array an argument of the function and of its derivative rule in your code"
    )


def _custom(equation: Any, operands: Sequence[Any], held: Values) -> Sequence[Any]:
    # The rule for the derivatives is kept. JAX does not pass the first num_consts operands to the
    # rule. For a custom_jvp, JAX would take the derivatives with respect to these operands as 0.
    # With `_not_differentiated`, such a derivative raises an error instead.
    params = equation.params | {
        "call_jaxpr": _traced_again(equation.params["call_jaxpr"], held),
        "num_consts": equation.params["num_consts"] + len(held),
    }
    count = params["num_consts"]
    values = [*held.values(), *operands]
    return _bind(equation, [*map(_not_differentiated, values[:count]), *values[count:]], params)


def _shard_map(equation: Any, operands: Sequence[Any], held: Values) -> Sequence[Any]:
    params = equation.params
    run = _taking(params["jaxpr"], held)
    axes = params["newly_manual_axes" if "newly_manual_axes" in params else "manual_axes"]
    everywhere = jax.sharding.PartitionSpec()
    return jax.shard_map(
        lambda *args: tuple(run(*args)),
        mesh=params["mesh"],
        in_specs=(everywhere, *params["in_specs"]),
        out_specs=params["out_specs"],
        check_vma=params["check_vma"],
        axis_names=axes,
    )(list(held.values()), *operands)


_CUSTOM = ("custom_jvp_call", "custom_vjp_call")
_RULES = {
    "jit": _jit,
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "remat2": _remat,
    "shard_map": _shard_map,
}
