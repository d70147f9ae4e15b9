"""Trace field lines outside a plasma, in the field of the plasma plus the field of the coils.

At every point outside the plasma, the field of the plasma is B_int, the internal field of the
virtual casing. In the picture, dots mark the positions of the field lines after each field period.
Run: pip install ".[plot]"; python examples/poincare.py [picture.png]
"""

import sys

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from jax import lax

import vcjax
from vcjax import problems

NFP, LINES, PERIODS, STEPS = 4, 8, 40, 8


def coil_field(points, curves):
    """Return the Biot-Savart field of closed curves at points (n, 3).

    `curves` contains the positions (k, 3), tangents (k, 3) and weights (k,) of all curve points.
    """
    positions, tangents, weights = curves
    apart = points[:, None] - positions
    kernel = jnp.cross(tangents, apart) / jnp.linalg.norm(apart, axis=2, keepdims=True) ** 3
    return (weights[:, None] * kernel).sum(axis=1)


def trace(start, casing, B, curves):
    """Return the positions (R, Z) of field lines after each field period: (PERIODS, 2, LINES).

    The field lines are computed with Runge-Kutta steps in phi.
    """

    def slope(phi, line):
        radius, height = line
        cosine, sine = jnp.cos(phi), jnp.sin(phi)
        points = jnp.stack([radius * cosine, radius * sine, height], axis=1)
        field = vcjax.field_at(casing, B, points).internal + coil_field(points, curves)
        along = (cosine * field[:, 1] - sine * field[:, 0]) / radius
        return jnp.stack([cosine * field[:, 0] + sine * field[:, 1], field[:, 2]]) / along

    size = 2 * np.pi / (NFP * STEPS)
    # The position of each Runge-Kutta stage in the step, and the weight of the stage.
    stages = jnp.array([[0.0, 1 / 6], [0.5, 1 / 3], [0.5, 1 / 3], [1.0, 1 / 6]])

    def step(line, k):
        def stage(state, of):
            before, total = state
            here = slope((k + of[0]) * size, line + of[0] * size * before)
            return (here, total + of[1] * size * here), None

        nothing = jnp.zeros_like(line)
        return line + lax.scan(stage, (nothing, nothing), stages)[0][1], None

    def period(line, _):
        line = lax.scan(step, line, jnp.arange(STEPS, dtype=float))[0]
        return line, line

    return lax.scan(period, start, None, length=PERIODS)[1]


def main(picture="poincare.png") -> None:
    jax.config.update("jax_enable_x64", True)
    # Use coils around the plasma, and two large coils that hold the plasma current in place.
    around = problems.rotating_ellipse(3).outside
    coils: tuple[problems.Filament, ...] = (
        *(coil for coil in around if isinstance(coil, problems.Filament)),
        *(problems.ToroidalLoop(-0.022, r=(2.0,), z=(height,)) for height in (1.0, -1.0)),
    )
    surface = problems.rotating_ellipse_surface(NFP)
    problem = problems.known_problem(
        "plasma of a small current",
        surface.points(10, 20, half_period=True),
        nfp=NFP,
        half_period=True,
        digits=3,
        outside=coils,
        inside=(problems.ToroidalLoop(0.03, r=(0.72,)),),
        src_shape=(9, 45),
        trg_shape=(1, 1),
    )
    rule = vcjax.choose_off_surface(problem.X, problem.B, 3, nfp=NFP, half_period=True)
    casing = vcjax.prepare_off_surface(rule, problem.X)

    angle = 2 * np.pi * np.arange(64) / 64
    positions, tangents = np.stack([coil.curve(angle) for coil in coils], axis=1)
    weights = np.repeat([coil.current * 2 * np.pi / 64 for coil in coils], 64)
    curves = positions.reshape(-1, 3), tangents.reshape(-1, 3), weights

    # The cross-section stays within 0.2 of its centre. Start the lines 0.24 to 0.3 from the centre.
    start = np.stack([0.7 + np.linspace(0.24, 0.3, LINES), np.zeros(LINES)])
    hits = np.asarray(jax.jit(trace)(start, casing, problem.B, curves))
    lost = np.isnan(hits).any(axis=(0, 1))
    print(f"{LINES} lines over {PERIODS} periods; {int(lost.sum())} lines hit the plasma")

    boundary = surface.points(1, 100, half_period=False)
    figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
    x, y, z = boundary[0].T
    axes.fill(np.hypot(x, y), z, facecolor="0.9", edgecolor="k")
    for line in range(LINES):
        axes.plot(hits[:, 0, line], hits[:, 1, line], ".", markersize=3)
    axes.set(xlabel="R", ylabel="Z", aspect="equal", title="Field lines outside the plasma")
    figure.savefig(picture, dpi=120)
    print(f"wrote {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
