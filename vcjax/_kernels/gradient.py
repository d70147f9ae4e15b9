"""Define the kernel of the gradient: its far part and its near part.

The kernel of the field is in `vcjax._kernels.far` and `vcjax._kernels.near`.

Far part. Let F = n x B and s = n.B at the source y, and r = x - y for the target x. In powers and
functions, r stands for its length. With T as in `vcjax._casing`, 4 pi T(x) is the sum of
r_m A_mk / r^3 over m and over the sources y, where A_mk = (e_m x F)_k - s delta_mk. The gradient of
4 pi T is the same sum of

    d_i (r_m / r^3) A_mk = {r^2 A_ik - 3 r_i r_m A_mk} / r^5.

The gradient of a field without divergence and curl is symmetric and has no trace. Let <a, b> be the
symmetric part of a_i b_k less its trace. The symmetric traceless part of the numerator is
3 <r, s r - r x F>, because A_ik is a multiple of the identity plus an antisymmetric matrix. The
rest of the numerator is antisymmetric. This rest is left out, because its sum over the whole
surface is zero if no current crosses the surface.

The numerator is a polynomial in x and y. The contribution of a block of sources to a tile of
targets is therefore the matrix of w = 1/r^5, (targets, sources), times a matrix of 17 columns. If c
is the centre of the block, y' = y - c and g = s y' - y' x F, the columns are

    s,  F,  h = 2 s y' - 3/2 y' x F,  and the five components of each of <y', F> and <y', g>.

With x' = x - c, and with the rows M_i of <y', F>, the numerator is 3 times the sum over sources of

    <x', s x' - x' x F - h>  +  the symmetric part of (x' x M_i)_k  +  <y', g>.

If (size of the block / r)^2 is 10^k, this expansion of the numerator loses k digits. With a centre
that is far from all sources, such as the origin, it would lose seven digits. Therefore each block
has its own centre, and the size of blocks is bounded.

Near part. With the normal n, the derivative of the field's kernel is

    d_i {B x (n x r) - B (n.r)} / r^3 = B x (n x K_i) - (n.K_i) B,  K_im = d_i (r_m / r^3).

The near part has K_im = N1(alpha r) delta_im / r^3 - q r_i r_m with q = 3 N2(alpha r) / r^5. N1 and
alpha are defined in `vcjax._kernels.near`, and N2(t) = N1(t) + 4 t^3 exp(-t^2) / (3 sqrt(pi)).
Again only the symmetric part less its trace is kept. The term with N1 has no such part. With
w = n x r, the other term is -q r_i {B x w - (n.r) B}_k. Its symmetric traceless part is

    the symmetric part of (B x S_i)_k  +  <B, v>,
    S = -q <r, w>,  v = -q {r^2 n - 3 (n.r) r} / 2,

because the antisymmetric part of r_i w_k corresponds to the vector r x w = r^2 n - (n.r) r.
Therefore each node of a patch has eight weights: five components of S, with rows S_i, and
three of v.

The integral is Hadamard's finite part. Its value for a constant B is known. Let
g = erfc(alpha r)/r, so that K_im = -d_i d_m g. Stokes' theorem, with derivatives in y, gives
integrals over the patch. The integral of n x grad(f) is the integral of f dl along the rim, with
steps dl counterclockwise about n. For f = d_i g, the theorem gives the integral of n x K_i. Because

    (n x grad) x grad(g) = (n.grad) grad(g) - n lap(g),

the theorem also gives the integral of n.K_i. With lap(g) = 4 alpha^3 exp(-(alpha r)^2)/sqrt(pi) it
follows that

    the integral of S is minus the integral of N1 <r, dl> / r^3 along the rim,
    the integral of v is the integral of n lap(g) over the patch,
                         plus 3/2 times the integral of N1 dl x r / r^3 along the rim.

The factor 3/2 is 1 from the integral of n.K_i, plus 1/2 from the antisymmetric part of the integral
of n x K_i. The integrals along the rim are small, because N1 is small there. The weights of the
target itself are chosen such that the sums of all weights have these values. The other weights are
integrals of the kernel times a function that vanishes at the target, so they have a finite
integrand and small rounding errors.
"""

from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np

from vcjax._annotations import Array, Float
from vcjax._kernels.far import Kernel
from vcjax._kernels.near import weights_at
from vcjax._kernels.split import near_split
from vcjax._kernels.vectors import AXES, components, cross, dot, stacked
from vcjax._quadrature.polar import radii, rim_nodes
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import GradientTables

_PUNCTURE = 3.1
"""Distance, in node spacings, within which far sums of gradients of many digits leave out nodes.

On a rotating ellipse with the axis ratio 8 : 1 and a rule for 12 digits, leaving out these nodes
reduced errors from 43e-12 to 3e-12 of max |grad B|.
"""
_MANY_DIGITS = 8
"""Least number of digits for which `gradient_puncture` is not 0."""


def _moments(y: Float[Array, "3 n"], densities: Float[Array, "4 n"]) -> Float[Array, "17 n"]:
    s, *F = components(densities)
    at = components(y)
    crossed = cross(at, F)
    g = [s * a - b for a, b in zip(at, crossed, strict=True)]
    h = [2 * s * a - 1.5 * b for a, b in zip(at, crossed, strict=True)]
    return stacked([s, *F, *h, *_five(_product(at, F)), *_five(_product(at, g))])


def _combine(x: Float[Array, "3 t"], m: Float[Array, "17 t"]) -> Float[Array, "5 t"]:
    """Return the five components of the gradient from the weighted moments m of a block of sources.

    The targets x are relative to the block's centre.
    """
    at, (s, *rest) = components(x), components(m)
    F, h = rest[:3], rest[3:6]
    crossed = [cross(at, row) for row in _matrix(rest[6:11])]
    direct = [s * a - b - c for a, b, c in zip(at, cross(at, F), h, strict=True)]
    parts = zip(_five(_product(at, direct)), _five(crossed), rest[11:], strict=True)
    # A stack computes each component once. A selection by index would take five times as long.
    return jnp.stack([3 * (a + b + c) for a, b, c in parts])


def _expand(five: Float[Array, "5 t"]) -> Float[Array, "3 3 t"]:
    """Return the gradient [i, k] from its five components."""
    rows = _matrix(components(five))
    return stacked(sum(rows, [])).reshape(3, 3, -1)


_FIVE = (0, 0), (1, 1), (0, 1), (0, 2), (1, 2)
"""Indices of the components xx, yy, xy, xz, yz of a symmetric matrix without trace."""


def _five(m: Sequence[Sequence[Array]]) -> list[Array]:
    """Return the five components of the symmetric part of a 3 x 3 matrix less its trace."""
    third = (m[0][0] + m[1][1] + m[2][2]) / 3
    return [0.5 * (m[i][k] + m[k][i]) - (third if i == k else 0) for i, k in _FIVE]


def _product(a: Sequence[Array], b: Sequence[Array]) -> list[list[Array]]:
    return [[x * y for y in b] for x in a]


def _matrix(five: Sequence[Array]) -> list[list[Array]]:
    """Return the rows of the symmetric traceless matrix with these five components."""
    xx, yy, xy, xz, yz = five
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, -xx - yy]]


# Rounding errors grow with the size of blocks.
GRADIENT = Kernel("far_gradient", 5, _moments, _combine, _expand, rank=2, largest_block=1024)


def gradient_weights_at(
    nodes: Float[Array, "6 row column"], constants: GradientTables, rule: Rule
) -> Callable:
    """Return a function that computes the near weights of the gradient for a block of targets.

    `weights_at` describes the function. The weights are S and v (see the module's docstring).
    """
    given = nodes, constants.field, rule, _near_kernel
    return weights_at(*given, _of_constant, gradient_puncture(rule))


def gradient_puncture(rule: Rule) -> float:
    """Return the distance, in node spacings, within which the far sum leaves out nodes.

    The distance is measured from a target, in units of the node spacing at the target. For points
    off the surface, it is measured in units of the least node spacing. The result is 0 if the rule
    is for fields or for few digits. With few digits the node spacing is large, and nodes on another
    part of the surface may lie within `_PUNCTURE` spacings of a target. The near part would not
    replace these nodes, because they are not on the patch.
    """
    return _PUNCTURE if rule.gradient and rule.digits >= _MANY_DIGITS else 0.0


def combine_gradient(
    b: Float[Array, "t 3 patch"], w: Float[Array, "t 8 patch"]
) -> Float[Array, "t 3 3"]:
    """Return the near part of the gradient [i, k] = d_i T_k, from B and weights on patches."""
    moments = components(jnp.einsum("tjp,twp->jwt", b, w))
    S = [_matrix(components(moment[:5])) for moment in moments]
    v = [components(moment[5:]) for moment in moments]
    crossed = [[S[i][row][j] - S[j][row][i] for _, i, j in AXES] for row in range(3)]
    rows = _matrix([x + y for x, y in zip(_five(crossed), _five(v), strict=True)])
    return stacked(sum(rows, []), axis=1).reshape(-1, 3, 3)


def _near_kernel(nodes, weights, alpha, axis: int, whole=None):
    """Return `weights` times the near kernel: the components of S, then of v, along `axis`.

    The module's docstring defines S and v. `nodes` are offsets from the target, then normals, six
    components along `axis`. Where a weight is 0, this product is 0. If `whole` is given, `whole`
    times the whole kernel (S and v with N2 = 1) is subtracted from the product.
    """
    offset, normal = jnp.split(nodes, 2, axis=axis)
    r, n = components(offset, axis), components(normal, axis)
    t = alpha * _distances(r, weights)
    split = weights * (near_split(t) + (4 / (3 * np.sqrt(np.pi))) * jnp.exp(-t * t))
    if whole is not None:
        split = split - whole / t**3
    q = 3 * alpha**5 * split / (t * t)
    along, square = dot(n, r), dot(r, r)
    v = [1.5 * along * a - 0.5 * square * b for a, b in zip(r, n, strict=True)]
    # On polar nodes (axis 2), `stacked` takes a third of the time of `jnp.stack`. On patches, it
    # takes twice the time.
    stack = stacked if axis == 2 else jnp.stack
    return stack([q * value for value in (*_five(_product(r, cross(r, n))), *v)], axis)


def _distances(r: Sequence[Array], weights):
    """Return the lengths of the offsets r of nodes from targets, but 1 where the weight is 0."""
    return jnp.sqrt(jnp.where(weights == 0, 1.0, dot(r, r)))


def _of_constant(
    rule: Rule, nodes: Float[Array, "4 t 6 node"], weights, alpha
) -> Float[Array, "t 8"]:
    """Return the integrals of S and v over patches; see the module's docstring.

    `nodes` are the polar nodes of the four quadrants: offsets from the targets, then normals.
    """
    r, n = (components(part, 2) for part in jnp.split(nodes, 2, axis=2))
    t = alpha * _distances(r, weights)
    factor = (4 / np.sqrt(np.pi)) * weights * alpha**3 * jnp.exp(-t * t)
    inside = jnp.stack([(factor * part).sum(axis=(0, 2)) for part in n], axis=1)
    return jnp.pad(inside, ((0, 0), (5, 0))) + _over_rim(rule, nodes, alpha)


def _over_rim(rule: Rule, nodes: Float[Array, "4 t 6 node"], alpha) -> Float[Array, "t 8"]:
    """Return the rim integrals, which are terms of the integrals of S and v over patches.

    The steps from node to node are central differences along the ring of the outermost nodes. The
    integrals along rims are about as large as the allowed error, so a few digits are enough.
    """
    quadrants = nodes[:, :, :3, rim_nodes(rule)]
    # In each quadrant, the nodes are sorted by the absolute value of their theta offset.
    ring = [quadrants[0], quadrants[2, ..., ::-1], quadrants[3], quadrants[1, ..., ::-1]]
    offsets = jnp.concatenate(ring, axis=2) / radii(rule)[0][-1]
    steps = 0.5 * (jnp.roll(offsets, -1, axis=2) - jnp.roll(offsets, 1, axis=2))
    # The steps run counterclockwise about the cross product of the tangents along phi and theta.
    # The first nodes of two quadrants show whether this product points inwards. These nodes lie
    # next to the target, where no patch folds back.
    before, after = (components(quadrant[..., 0], 1) for quadrant in (nodes[1], nodes[0]))
    side = jnp.sign(dot(cross(before[:3], after[:3]), after[3:]))[:, None]
    # The offsets are -r, so the signs are opposite to the signs in the module's docstring.
    r, step = components(offsets, 1), components(steps, 1)
    factor = side * alpha**3 * near_split(alpha * jnp.sqrt(dot(r, r)))
    parts = [*_five(_product(r, step)), *(1.5 * part for part in cross(r, step))]
    return jnp.stack([(factor * part).sum(axis=1) for part in parts], axis=1)
