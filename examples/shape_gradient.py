"""Differentiate the mean of B_ext^2 with respect to the surface points, and check the derivative.

The check compares the derivative with a central difference between two moved surfaces. Sources,
targets, normals and quadrature weights all depend on the surface points X.
Run: pip install .; python examples/shape_gradient.py
"""

import jax
import jax.numpy as jnp

import vcjax
from vcjax import problems


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    problem = problems.rotating_ellipse(4)
    rule = vcjax.choose(problem.X, problem.B, 4, nfp=4, half_period=True, trg_nphi=6, trg_ntheta=12)
    # Pass the tables as an argument. Tables made in the function would be embedded in its program.
    constants = vcjax.tables(rule)

    @jax.jit
    def value_and_gradient(X, constants):
        def mean_square(X):
            casing = vcjax.prepare(rule, X, constants=constants)
            return (vcjax.external_field(casing, problem.B) ** 2).sum(axis=2).mean()

        return jax.value_and_grad(mean_square)(X)

    X = jnp.asarray(problem.X)
    value, gradient = value_and_gradient(X, constants)
    print(f"mean of B_ext^2                {float(value):.6f}")

    # Displace the surface by an amount that varies with phi.
    phi = jnp.arctan2(X[..., 1], X[..., 0])[..., None]
    direction = 0.1 * X * jnp.cos(4 * phi)
    step = 1e-4
    after, before = (value_and_gradient(X + s * step * direction, constants)[0] for s in (1, -1))
    difference = float(after - before) / (2 * step)
    slope = float((gradient * direction).sum())
    print(f"slope by the gradient          {slope:.6e}")
    print(f"slope by a central difference  {difference:.6e}")


if __name__ == "__main__":
    main()
