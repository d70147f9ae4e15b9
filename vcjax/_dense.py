"""Compute the map from total fields to external or internal fields as a dense matrix.

To compute a row, the transpose of the evaluation at one target is applied to a unit vector. On one
processor, computing the matrix took the time of 40 to 70 field evaluations (W7-X, rotating
ellipse), plus compile time. Applying the matrix takes one matrix product.
"""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from vcjax._annotations import Array, Float
from vcjax._casing import Casing
from vcjax._checks import check_casing, check_jax, check_vectors
from vcjax._data_checks.watch import check_evaluated, watch_alike
from vcjax._errors import VcjaxError
from vcjax._geometry.nodes import one_period
from vcjax._kernels.far import FIELD, far_sum
from vcjax._kernels.near import combine_field, field_weights_at, patches
from vcjax._options import Tiles, memory_shortage, resolve_tiles
from vcjax._prepared import on_nodes
from vcjax._programs.compiled import compiled, operands
from vcjax._pytree import pytree

# Number of targets for which matrix rows are computed at once. For each pair of a target and a
# node, the temporaries contain a few arrays of nine numbers.
_BATCH = 4


@pytree
@dataclass(frozen=True, eq=False)
class DenseOperator:
    """The matrix that maps total fields to external or internal fields; see `dense_operator`.

    It is an immutable pytree: pass it to jitted functions as an argument.

    Attributes
    ----------
    src_shape, trg_shape : (nphi, ntheta) of the field's grid and of the targets; static.
    matrix : (3 trg_nphi trg_ntheta, 3 src_nphi src_ntheta), float64. Rows and columns have
        the order of ``B.ravel()`` for a field B, (nphi, ntheta, 3).
    """

    src_shape: tuple[int, int] = field(metadata={"static": True})
    trg_shape: tuple[int, int] = field(metadata={"static": True})
    matrix: Float[Array, "target source"]

    def apply(
        self, B: Float[Array | np.ndarray, "*batch src_nphi src_ntheta 3"]
    ) -> Float[Array, "*batch trg_nphi trg_ntheta 3"]:
        """Return the external or internal field at the targets, for one field or a batch.

        Parameters
        ----------
        B : (..., src_nphi, src_ntheta, 3) total fields, any unit.

        Returns
        -------
        (..., trg_nphi, trg_ntheta, 3) Cartesian components, in the unit of B.

        Raises
        ------
        VcjaxError : in any of these cases

            - B is not a finite float64 array (..., src_nphi, src_ntheta, 3).
            - The batch is empty.
            - The dtype or the shape of the matrix was changed.
            - JAX runs in 32-bit mode, or in a process forked after JAX started.

        Warns
        -----
        ContradictionWarning, UnresolvedWarning, NoiseWarning : see `external_field`. At most one
            field of each operator is checked.
        """
        call = "DenseOperator.apply"
        check_jax(call)
        # `jax.tree.map` can change the dtype or the shape of the matrix.
        expected = tuple(3 * shape[0] * shape[1] for shape in (self.trg_shape, self.src_shape))
        if self.matrix.shape != expected or self.matrix.dtype != np.float64:
            raise VcjaxError(
                f"{call} got a matrix of dtype {self.matrix.dtype} and shape {self.matrix.shape}, "
                f"but needs float64 of shape {expected}; make the operator again with "
                "vcjax.dense_operator."
            )
        if not isinstance(B, jax.Array | np.ndarray) or B.shape[-3:] != (*self.src_shape, 3):
            raise VcjaxError(
                f"{call} got B of shape {np.shape(B)} and type {type(B).__name__}; give a NumPy or "
                f"JAX array whose last three axes have the sizes {(*self.src_shape, 3)}."
            )
        if not B.size:
            raise VcjaxError(f"{call} got B of shape {B.shape}; give at least one field.")
        check_vectors(call, "B", B.reshape(-1, *B.shape[-2:]), given_shape=B.shape)
        check_evaluated(call, self, B, first_only=True)
        return _apply(self, operands(B))


def dense_operator(
    casing: Casing, *, internal: bool = False, chunk_size: int | str = "auto"
) -> DenseOperator:
    """Return `external_field` or `internal_field` of a casing as a matrix, for many fields.

    The matrix saves time if it is applied to about a hundred fields or more, best in batches. Its
    size is 72 bytes for each pair of a target and a point of the field's grid.

    Parameters
    ----------
    casing : made by `prepare` without ``devices``.
    internal : return the operator of `internal_field` instead of `external_field`.
    chunk_size : largest number of sources in a tile, or "auto"; see `external_field`.

    Returns
    -------
    DenseOperator : its `apply` evaluates a field or a batch of fields.

    Raises
    ------
    VcjaxError : in any of these cases

        - The casing was not made by `prepare`, or is divided over devices.
        - `chunk_size` is invalid.
        - The matrix does not fit into memory.
        - JAX runs in 32-bit mode, or in a process forked after JAX started.
    """
    call = "dense_operator"
    check_jax(call)
    check_casing(call, casing, Casing, "vcjax.prepare")
    if casing.devices is not None:
        raise VcjaxError(
            f"{call} got a casing divided over {casing.devices.size} devices; prepare the surface "
            "without devices."
        )
    rule = casing.rule
    sources, targets = rule.src_shape[0] * rule.src_shape[1], rule.target_count
    if shortage := memory_shortage(
        f"{call} got a casing with {sources} points of the field and {targets} targets: the "
        "entries of the matrix",
        72 * sources * targets,
        "Use external_field or internal_field, with jax.vmap for a batch of fields, or choose a "
        "rule with fewer targets.",
    ):
        raise VcjaxError(shortage)
    # Each target is rotated into every field period, so it counts nfp times.
    tiles = resolve_tiles(call, "B", chunk_size, rule.nfp)
    matrix = _matrix(casing, tiles, -1.0 if internal else 1.0)
    operator = DenseOperator(rule.src_shape, rule.trg_shape, matrix)
    watch_alike(operator, casing)
    return operator


@compiled({})
def _apply(operator: DenseOperator, B):
    # For a single field, XLA would evaluate `B @ matrix.T` with a transposed copy of the matrix.
    flat = jnp.einsum("...s,ts->...t", B.reshape(*B.shape[:-3], -1), operator.matrix)
    return flat.reshape(*B.shape[:-3], *operator.trg_shape, 3)


@compiled({}, static_argnums=(1, 2))
def _matrix(casing: Casing, tiles: Tiles, sign: float):
    rule = casing.rule
    count = rule.target_count
    at_one = _field_at_one(casing, tiles, sign)
    zero = jnp.zeros((*rule.src_shape, 3), casing.sources.dtype)
    units = (jnp.arange(3)[:, None] == jnp.arange(3)).astype(casing.sources.dtype)

    def rows(target):
        # `jax.linear_transpose` would take twice as long, and JAX before 0.9 cannot apply it here.
        _, transpose = jax.vjp(lambda B: at_one(B, *target), zero)
        return jax.vmap(lambda unit: transpose(unit)[0])(units)

    index = jnp.arange(count)
    near = casing.near_weights
    stored = () if near is None else (near.reshape(count, *near.shape[2:]),)
    targets = index // rule.trg_shape[1], index % rule.trg_shape[1], *stored
    return lax.map(rows, targets, batch_size=min(_BATCH, count)).reshape(3 * count, -1)


def _field_at_one(casing: Casing, tiles: Tiles, sign: float):
    """Return a function that computes the external or internal field (3,) at one target.

    The function takes (B, row, column, *weights). It returns the external field if `sign` is 1, and
    the internal field if `sign` is -1. `row` and `column` are the indices of the target; `weights`
    are the stored near weights of the target, if any.
    """
    rule = casing.rule
    sources = casing.sources, casing.area_normals
    recipe = casing.nodes, *casing.near_recipe
    streamed = field_weights_at(*recipe, rule=rule) if casing.near_recipe else None

    def at_one(B, row, column, *weights):
        continued = on_nodes(casing, B)
        nodes = one_period(continued, rule)
        i, j = row * rule.stride_phi, column * rule.stride_theta
        target = casing.sources[:, i, j][None]
        far = far_sum(FIELD, rule, tiles, target, *sources, nodes, casing.turns)
        w = streamed(row, column[None]) if streamed else weights[0][None].astype(nodes.dtype)
        near = combine_field(patches(continued, rule, row, column[None]).reshape(1, 3, -1), w)
        return 0.5 * nodes[:, i, j] + sign * (near[0] + far[:, 0])

    return at_one
