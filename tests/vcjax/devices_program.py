"""Run the same calls on one device and on many; `test_devices` starts this program.

    python devices_program.py PATH                        one device, then all of this process
    python devices_program.py PATH ADDRESS COUNT NUMBER   process NUMBER of COUNT, all devices

The first form writes the results of one device to the file PATH, and the second form compares with
that file. Both forms print a JSON object. The object contains facts about where arrays lie, and the
largest deviation of each quantity from one device, relative to the largest value. In the first form
it also contains the message of an error.
"""

import dataclasses
import json
import sys
import warnings
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import vcjax
from tests.vcjax.common import captured_bytes, determined, small_torus

warnings.filterwarnings("ignore", category=vcjax.UnresolvedWarning)  # the small torus

# Neither 3 rows of targets nor 15 targets divide evenly over 4 or 8 devices.
TARGETS = dict(trg_nphi=3, trg_ntheta=5)
PROBLEM = small_torus()
X, B = PROBLEM.X, PROBLEM.B  # NumPy arrays: no device may be used before the processes connect


def chosen(digits: int, **options) -> vcjax.Rule:
    return vcjax.choose(PROBLEM.X, PROBLEM.B, digits, nfp=1, **{**TARGETS, **options})


def quantities(devices) -> dict[str, Any]:
    """Return the most important quantities, computed on the given devices."""
    rule = chosen(2)
    constants = vcjax.tables(rule)
    casing = vcjax.prepare(rule, X, devices=devices)
    weight = np.random.default_rng(0).normal(size=(3, 5, 3))

    def scalar(X, B, constants):
        casing = vcjax.prepare(rule, X, constants=constants, devices=devices)
        return (weight * vcjax.external_field(casing, B) ** 2).sum()

    slope_in_X, slope_in_B = jax.jit(jax.grad(scalar, argnums=(0, 1)))(X, B, constants)
    return {
        "near_weights": casing.near_weights,
        "external_field": vcjax.external_field(casing, B),
        "derivative_in_the_surface": slope_in_X,
        "derivative_in_the_field": slope_in_B,
    }


def off_the_surface(devices) -> dict[str, Any]:
    """Return results at five points inside and outside, near the surface and far from it."""
    rule = vcjax.choose_off_surface(X, B, 1, nfp=1)
    casing = vcjax.prepare_off_surface(rule, X, devices=devices)
    near = 1.001 * X[:3, 5] + np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [-0.1, 0.0, 0.0]])
    points = np.concatenate([near, [[0.0, 0.0, 0.3], [5.0, 5.0, 5.0]]])
    found = vcjax.field_at(casing, B, points)
    return {
        "field_off_the_surface": determined(found),
        "distances": found.distance,
    }


def further_quantities(devices) -> dict[str, Any]:
    """Return results of other programs, which divide their targets in the same way."""
    casing = vcjax.prepare(chosen(2), X, devices=devices)
    # Use a coarse grid: closer nodes make the terms of a gradient and its rounding errors larger.
    coarse = dataclasses.replace(chosen(2), gradient=True)
    gradients = vcjax.prepare_gradient(coarse, X, devices=devices)
    batch = jax.vmap(partial(vcjax.external_field, casing))
    fields = jnp.stack([B, B[::-1]])
    return {
        "internal_field": vcjax.internal_field(casing, B),
        "self_test": vcjax.self_test(casing),
        "near_gradient_weights": gradients.near_weights,
        # Smaller blocks have smaller rounding errors. With "auto", one block has all nodes.
        "external_gradient": vcjax.external_gradient(gradients, B, chunk_size=16),
        "tangents_of_a_batch": jax.jvp(batch, (fields,), (fields[:, ::-1],))[1],
        **off_the_surface(devices),
    }


def deviations(many: dict, one: dict) -> dict[str, float]:
    """Return relative deviations; a process compares only its own rows of the near weights."""

    def worst(name):
        if not name.startswith("near"):
            return np.abs(np.asarray(many[name]) - one[name]).max()
        held = [(s.index[0].start, np.asarray(s.data)) for s in many[name].addressable_shards]
        rows = [(data, one[name][start : start + len(data)]) for start, data in held]
        return max(np.abs(data[: len(row)] - row).max(initial=0.0) for data, row in rows)

    # `self_test` returns errors for fields with the maximum 1.
    scales = {name: np.abs(one[name]).max() for name in many} | {"self_test": 1.0}
    return {name: float(worst(name) / scales[name]) for name in many}


def facts(mesh) -> dict:
    rule = chosen(2)
    casing = vcjax.prepare(rule, X, devices=mesh)
    weights: Any = casing.near_weights

    def prepare(X, constants):
        return vcjax.prepare(rule, X, constants=constants, devices=mesh)

    return {
        "devices": mesh.size,
        "rows_per_device": [shard.data.shape[0] for shard in weights.addressable_shards],
        "result_everywhere": vcjax.external_field(casing, B).sharding.is_fully_replicated,
        "captured_by_evaluation": captured_bytes(jax.make_jaxpr(vcjax.external_field)(casing, B)),
        "captured_by_preparation": captured_bytes(jax.make_jaxpr(prepare)(X, vcjax.tables(rule))),
    }


def too_many_devices() -> str:
    try:
        vcjax.prepare(chosen(2, trg_nphi=1), X, devices=jax.devices())
    except vcjax.VcjaxError as error:
        return str(error)
    return ""


def main(path: str, address: str = "", count: str = "1", number: str = "0") -> None:
    if address:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(address, int(count), int(number))
        mesh = jax.make_mesh((jax.device_count(),), ("anything",))
        one, many = dict(np.load(path)), quantities(mesh)
    else:
        mesh = jax.make_mesh((2, jax.device_count() // 2), ("node", "core"))
        one, many = (quantities(d) | further_quantities(d) for d in (None, mesh))
        one = {name: np.asarray(value) for name, value in one.items()}
        np.savez(path, **one)
    report = {"deviations": deviations(many, one), "facts": facts(mesh)}
    print(json.dumps(report if address else report | {"too_many_devices": too_many_devices()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
