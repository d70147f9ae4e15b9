"""Register frozen dataclasses as pytrees.

Only the version of vcjax that wrote a pickle can read the pickle.
"""

import dataclasses

import jax
from jax.sharding import Mesh

from vcjax._errors import VcjaxError
from vcjax._version import VERSION


class _Devices:
    """Stand-in for the mesh of a casing that is being copied or pickled.

    Copies share the mesh; pickling raises `VcjaxError`.
    """

    def __init__(self, mesh: Mesh):
        self.mesh = mesh

    def __deepcopy__(self, _):
        return self

    def __reduce__(self):
        raise VcjaxError(
            f"Pickling got a casing divided over {self.mesh.size} devices, which another process "
            "may not have. Pickle the rule and X instead, and prepare the surface in the process "
            "that unpickles them."
        )


def versioned(cls):
    """Make a dataclass store the version of vcjax in pickles.

    Unpickling raises `VcjaxError` if the pickle is from another version. In another version the
    same arrays may have another meaning, and a missing attribute would silently take its default.
    `copy.copy` and `copy.deepcopy` use the same methods as pickles.
    """

    def get_state(self):
        fields = {
            name: _Devices(value) if isinstance(value, Mesh) else value
            for name, value in self.__dict__.items()
        }
        return {"vcjax": VERSION, "fields": fields}

    def set_state(self, state):
        made_by = state.get("vcjax", "before 0.1.0")
        fields = state.get("fields", state)
        changed = {f.name for f in dataclasses.fields(self)} ^ set(fields)
        if made_by != VERSION or changed:
            names = f"; these attributes differ: {', '.join(sorted(changed))}" if changed else ""
            # Builds between two releases have the same version.
            reader = "this build of vcjax" if made_by == VERSION else f"vcjax {VERSION}"
            raise VcjaxError(
                f"Unpickling got a {type(self).__name__} of vcjax {made_by}, which {reader} cannot "
                f"read{names}. Choose the rule and prepare the surface again."
            )
        self.__dict__.update(
            (name, value.mesh if isinstance(value, _Devices) else value)
            for name, value in fields.items()
        )

    cls.__getstate__, cls.__setstate__ = get_state, set_state
    return cls


def pytree(cls):
    """Register a frozen dataclass as a pytree, and make it `versioned`.

    Fields with ``metadata={"static": True}`` are not leaves. Unlike
    ``jax.tree_util.register_dataclass``, this function rebuilds objects without ``__init__``: JAX
    passes placeholders in place of arrays, and checks of array types would reject them.
    """
    fields = dataclasses.fields(cls)
    static = [f.name for f in fields if f.metadata.get("static")]
    leaves = [f.name for f in fields if f.name not in static]

    def flatten(value):
        children = [(jax.tree_util.GetAttrKey(n), getattr(value, n)) for n in leaves]
        return children, tuple(getattr(value, n) for n in static)

    def unflatten(fixed, children):
        value = object.__new__(cls)
        value.__dict__.update(zip(leaves + static, (*children, *fixed), strict=True))
        return value

    jax.tree_util.register_pytree_with_keys(cls, flatten, unflatten)
    return versioned(cls)
