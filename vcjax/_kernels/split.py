"""Split 1/r^3, a factor of the kernel of a field (see `vcjax._kernels.near`), into two parts."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from vcjax._kernels.vectors import components, stacked

# Coefficients of the powers 22 to 0 of the polynomial in `near_split`. The polynomial interpolates
# (1 + 2 t) erfcx(t) at Chebyshev nodes, with erfcx from SciPy.
_SCALED = (
    1.6404356396091919e-09,
    -7.0056151628718e-09,
    -1.6697443685603657e-08,
    9.300182391162619e-08,
    7.182342532539098e-08,
    -8.020807138772296e-07,
    2.972641009857475e-07,
    5.689545401590473e-06,
    -1.1224614105833239e-05,
    -2.438773463148218e-05,
    0.00015062291812410384,
    -0.00019926101653762,
    -0.0007577736781845116,
    0.005031971035190489,
    -0.01619773397913967,
    0.03716751537711094,
    -0.06633036582197122,
    0.09373283501215808,
    -0.10103906603563748,
    0.06809705425412396,
    0.015379652102600228,
    -0.1396211168405549,
    1.2329951186255526,
)


@jax.custom_jvp
def near_split(t):
    """Return N1(t)/t^3, the near part of 1/t^3, for t > 0.

    N1(t) is erfc(t) + 2 t exp(-t^2)/sqrt(pi), and t is the cut-off rate alpha times the distance r.
    Up to rounding error, (1 + 2 t) exp(t^2) erfc(t) is a polynomial in (t - 4)/(t + 4). JAX's own
    erfc takes five times as many instructions.
    """
    # XLA stores t and y in one stacked array before the loop that computes the result. If an
    # operand of this loop had the shape of the result, XLA would overwrite the operand. Up to JAX
    # 0.10, LLVM does not vectorise loops that overwrite an operand, and they take four times as
    # long.
    t, y = components(stacked([t, (t - 4.0) / (t + 4.0)]))
    scaled = functools.reduce(lambda total, c: total * y + c, _SCALED[1:], _SCALED[0])
    return jnp.exp(-t * t) * (scaled / (1.0 + 2.0 * t) + (2 / np.sqrt(np.pi)) * t) / t**3


@near_split.defjvp
def _(primals, tangents):
    (t,), (dt,) = primals, tangents
    near = near_split(t)
    return near, -((4 / np.sqrt(np.pi)) * jnp.exp(-t * t) + 3 * near) / t * dt


def far_split(square, terms: int):
    """Return (1 - N1(t))/t^3, the far part of 1/t^3, as a function of t^2; see `near_split`.

    The result is the sum of the first `terms` terms of 4/sqrt(pi) sum_k (-t^2)^k / (k! (2k + 3)).
    The series follows from the derivative of 1 - N1, which is 4/sqrt(pi) t^2 exp(-t^2).
    """
    total, power = jnp.zeros_like(square), jnp.ones_like(square)
    for k in range(terms):
        total = total + power / (2 * k + 3)
        power = -power * square / (k + 1)
    return (4 / np.sqrt(np.pi)) * total
