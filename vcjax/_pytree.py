"""Frozen dataclasses as pytrees."""

import dataclasses

import jax


def pytree(cls):
    """Register a frozen dataclass; fields with ``metadata={"static": True}`` are not leaves.

    Unlike ``jax.tree_util.register_dataclass`` it rebuilds without ``__init__``: JAX puts
    placeholders where arrays were, and what checks arrays must not see them.
    """
    fields = dataclasses.fields(cls)
    static = [f.name for f in fields if f.metadata.get("static")]
    leaves = [f.name for f in fields if f.name not in static]

    def flatten(value):
        children = [(jax.tree_util.GetAttrKey(n), getattr(value, n)) for n in leaves]
        return children, tuple(getattr(value, n) for n in static)

    def unflatten(fixed, children):
        value = object.__new__(cls)
        for name, part in (*zip(leaves, children, strict=True), *zip(static, fixed, strict=True)):
            object.__setattr__(value, name, part)
        return value

    jax.tree_util.register_pytree_with_keys(cls, flatten, unflatten)
    return cls
