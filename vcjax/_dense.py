"""The casing operator of a fixed surface as a matrix.

A row of the matrix is the exact transpose of the evaluation at a target, applied to a unit vector.
Making the matrix takes as long as evaluating about ten fields, and compiling; applying it is a
single product.
"""

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._casing import Casing
from vcjax._checks import check_casing, check_jax, check_vectors
from vcjax._data_checks.watch import check_evaluated, watch_alike
from vcjax._errors import VcjaxError
from vcjax._geometry.nodes import one_period
from vcjax._kernels.far import FIELD, far_sum
from vcjax._kernels.near import combine_field, field_weights_at, patches
from vcjax._options import Tiles, memory_shortage, resolve_tiles
from vcjax._prepared import on_nodes
from vcjax._pytree import pytree

# Targets whose rows are made at once; each needs a few times nine numbers for each node.
_BATCH = 4


@pytree
@dataclass(frozen=True, eq=False)
class DenseOperator:
    """A linear map from fields to fields: an immutable pytree, to be passed as an argument.

    Attributes
    ----------
    src_shape, trg_shape : static; (nphi, ntheta) of the field and of the targets.
    matrix : (3 trg_nphi trg_ntheta, 3 src_nphi src_ntheta), components running fastest.
    """

    src_shape: tuple[int, int] = field(metadata={"static": True})
    trg_shape: tuple[int, int] = field(metadata={"static": True})
    matrix: Float[Array, "target source"]

    def apply(
        self, B: Float[Array | np.ndarray, "*batch src_nphi src_ntheta 3"]
    ) -> Float[Array, "*batch trg_nphi trg_ntheta 3"]:
        """Return the separated field, in the unit of B, of a field or of any batch of fields.

        Raises
        ------
        VcjaxError : for a field that does not fit, NaN, or 32-bit mode.
        """
        call = "DenseOperator.apply"
        check_jax(call)
        # `jax.tree.map` can round or reshape the matrix.
        expected = tuple(3 * shape[0] * shape[1] for shape in (self.trg_shape, self.src_shape))
        if self.matrix.shape != expected or self.matrix.dtype != np.float64:
            raise VcjaxError(
                f"{call} of an operator whose matrix is {self.matrix.dtype} of shape "
                f"{self.matrix.shape}, not float64 of {expected}; keep it as it was made."
            )
        if not isinstance(B, jax.Array | np.ndarray) or B.shape[-3:] != (*self.src_shape, 3):
            raise VcjaxError(
                f"{call} got B of shape {np.shape(B)}; give (..., nphi, ntheta, 3) with "
                f"{(*self.src_shape, 3)} last."
            )
        if not B.size:
            raise VcjaxError(f"{call} got B of shape {B.shape}; give at least one field.")
        check_vectors(call, "B", B.reshape(-1, *B.shape[-2:]))
        check_evaluated(call, self, B, first_only=True)
        return _apply(self, jnp.asarray(B))


def dense_operator(
    casing: Casing, *, internal: bool = False, chunk_size: int | str = "auto"
) -> DenseOperator:
    """Return `external_field` or `internal_field` of a casing as a matrix, for many fields.

    It pays from some tens of evaluations on, if the matrix fits into memory: it takes 72 bytes for
    each pair of a target and a point of the field's grid. Its `apply` takes whole batches.

    Parameters
    ----------
    casing : from `prepare`, not divided over devices.
    internal : make the operator of `internal_field`.
    chunk_size : largest number of sources of a tile of the far field, or "auto".

    Raises
    ------
    VcjaxError : for a casing that cannot be used, a matrix that does not fit into memory, or
        32-bit mode.
    """
    call = "dense_operator"
    check_jax(call)
    check_casing(call, casing, Casing, "vcjax.prepare")
    if casing.devices is not None:
        raise VcjaxError(f"{call} got a casing divided over devices; prepare it without devices.")
    rule = casing.rule
    sources, targets = rule.src_shape[0] * rule.src_shape[1], rule.target_count
    if shortage := memory_shortage(
        f"{call}: a matrix from {sources} points of the field to {targets} targets",
        72 * sources * targets,
        "Use external_field, jax.vmap for batches of fields, or fewer targets.",
    ):
        raise VcjaxError(shortage)
    # A target is turned into every field period.
    tiles = resolve_tiles(call, "B", chunk_size, rule.nfp)
    matrix = _matrix(casing, tiles, -1.0 if internal else 1.0)
    operator = DenseOperator(rule.src_shape, rule.trg_shape, matrix)
    watch_alike(operator, casing)
    return operator


@jax.jit
def _apply(operator: DenseOperator, B):
    flat = B.reshape(*B.shape[:-3], -1) @ operator.matrix.T
    return flat.reshape(*B.shape[:-3], *operator.trg_shape, 3)


@partial(jax.jit, static_argnums=(1, 2))
def _matrix(casing: Casing, tiles: Tiles, sign: float):
    rule = casing.rule
    count = rule.target_count
    at_one = _field_at_one(casing, tiles, sign)
    unknown = jax.ShapeDtypeStruct((*rule.src_shape, 3), casing.sources.dtype)
    units = (jnp.arange(3)[:, None] == jnp.arange(3)).astype(casing.sources.dtype)

    def rows(target):
        transpose = jax.linear_transpose(lambda B: at_one(B, *target), unknown)
        return jax.vmap(lambda unit: transpose(unit)[0])(units)

    index = jnp.arange(count)
    near = casing.near_weights
    stored = () if near is None else (near.reshape(count, *near.shape[2:]),)
    targets = index // rule.trg_shape[1], index % rule.trg_shape[1], *stored
    return lax.map(rows, targets, batch_size=min(_BATCH, count)).reshape(3 * count, -1)


def _field_at_one(casing: Casing, tiles: Tiles, sign: float):
    """Return the separated field at a target as a function: (B, row, column) to (3,)."""
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
