"""Divide targets among many devices; each device computes its share from a copy of all sources.

Targets are independent of each other. ``shard_map`` divides a loop over targets or over rows of
targets. The other operands, such as the sources of one field period, are small and are copied to
every device. Results are gathered, with a copy on each device. Only the near weights stay divided,
on the devices that compute and use them.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from vcjax._errors import VcjaxError

Devices: TypeAlias = Mesh | Sequence[Any] | None
"""A mesh (all its axes divide the targets), a list of devices, or None for one device."""


def device_mesh(call: str, devices, target_count: int | None = None) -> Mesh | None:
    """Return the mesh over which targets are divided, or None if `devices` is None.

    `target_count` is None if the number of targets is not known yet.
    """
    if devices is None:
        return None
    listed = devices.tolist() if isinstance(devices, np.ndarray) else devices
    if isinstance(devices, Mesh):
        found, names = devices.devices, devices.axis_names
    elif isinstance(listed, Sequence) and all(isinstance(each, jax.Device) for each in listed):
        found, names = np.array(list(listed), dtype=object), ("targets",)
    else:
        raise VcjaxError(
            f"{call} got devices={devices!r}; give a jax.sharding.Mesh, a list of devices such as "
            "jax.devices(), or None for a single device."
        )
    _check_devices(call, list(found.ravel()), target_count)
    # Axes of the given mesh may be "explicit". Every slice of an array would then need a sharding.
    # With the new mesh, the compiler chooses all shardings.
    mesh = Mesh(found, names)
    check_context(call, mesh)
    return mesh


def check_context(call: str, mesh: Mesh) -> None:
    """Raise `VcjaxError` inside `jax.set_mesh` or `jax.shard_map` with another mesh."""
    context = jax.sharding.get_abstract_mesh()
    if not context.empty and context != mesh.abstract_mesh:
        raise VcjaxError(
            f"{call} got devices, but was called inside jax.set_mesh or jax.shard_map, with the "
            f"mesh {dict(context.shape)} of axis types {context.axis_types}. JAX accepts only the "
            "mesh of the devices there, with axis types Auto. Make the call outside, or use a "
            "casing prepared without devices."
        )


def _check_devices(call: str, found: list, target_count: int | None) -> None:
    if not found or len(set(found)) < len(found):
        raise VcjaxError(
            f"{call} got {len(found)} devices ({len(set(found))} without repetitions); give at "
            "least one device, and each device once."
        )
    platforms, default = sorted({device.platform for device in found}), jax.default_backend()
    if platforms != [default]:
        raise VcjaxError(
            f"{call} got devices of {' and '.join(platforms)}, but JAX runs on {default} here; "
            f"give {default} devices, or choose another platform with "
            "jax.config.update('jax_platforms', ...) before any other use of JAX."
        )
    if target_count is not None and len(found) > target_count:
        raise VcjaxError(
            f"{call} got {len(found)} devices for {target_count} targets; give at most "
            f"{target_count}, for example devices=jax.devices()[:{target_count}]."
        )
    if jax.process_index() not in {device.process_index for device in found}:
        raise VcjaxError(
            f"{call} got devices of other processes only; include a device of this process "
            f"(process {jax.process_index()}), or make the call only in the processes that own "
            "these devices."
        )


def copied(values: Any, mesh: Mesh | None) -> Any:
    """Copy arrays to every device of the mesh; return them unchanged if the mesh is None.

    If the mesh has devices of every process, JAX checks that all processes pass the same values. An
    array that is divided among the processes is not checked.
    """
    return values if mesh is None else jax.device_put(values, NamedSharding(mesh, PartitionSpec()))


def divided(
    function: Callable, mesh: Mesh | None, targets: Any, *everywhere: Any, axis: int = 0
) -> Any:
    """Call ``function(targets, *everywhere)`` on each device with its share of the targets.

    The arrays of targets are divided along their first axis. Copies of the last target are first
    appended, until the number of targets is a multiple of the number of devices. The results stay
    divided along `axis`, and contain the results of the copies. If the mesh is None, the function
    is called once with the targets as they are.
    """
    if mesh is None:
        return function(targets, *everywhere)

    def filled(values):
        fill = ((0, -values.shape[0] % mesh.size),) + ((0, 0),) * (values.ndim - 1)
        return jnp.pad(values, fill, mode="edge")

    share = PartitionSpec(mesh.axis_names)
    program = jax.shard_map(
        function,
        mesh=mesh,
        in_specs=(share, *(PartitionSpec() for _ in everywhere)),
        out_specs=PartitionSpec(*(None,) * axis, mesh.axis_names),
        # This check is for results that are the same on several devices. There are no such results,
        # because `out_specs` divides all results over all axes of the mesh.
        check_vma=False,
    )
    return program(jax.tree.map(filled, targets), *everywhere)


def over_targets(
    function: Callable, mesh: Mesh | None, targets: Any, *everywhere: Any, count: int, axis: int = 0
) -> Any:
    """Call `divided`; return the first `count` entries of its results along `axis`.

    Every device gets a copy of these entries.
    """
    result = divided(function, mesh, targets, *everywhere, axis=axis)
    if mesh is not None:
        result = lax.with_sharding_constraint(result, NamedSharding(mesh, PartitionSpec()))
    return jax.tree.map(lambda v: lax.slice_in_dim(v, 0, count, axis=axis), result)
