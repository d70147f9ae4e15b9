"""Define `Rule`: the sizes and constants of a quadrature, which determine array shapes."""

from dataclasses import dataclass

import numpy as np

from vcjax._errors import VcjaxError
from vcjax._pytree import versioned

_LEAST = dict(
    nfp=1, quad_nphi=1, quad_ntheta=1, patch_phi=1, patch_theta=1, margin=0,
    radial_count=1, angular_count=4, lagrange_count=2, core_count=0, digits=1,
)  # fmt: skip
_LARGEST_CUTOFF = 10.0
FIELD_PARTS, GRADIENT_PARTS = 4, 8
"""Number of weights of the near kernel at each node of a patch: for fields, and for gradients."""


@versioned
@dataclass(frozen=True)
class Rule:
    """Sizes and constants of a quadrature: an immutable, hashable object.

    A patch is an ellipse of quadrature nodes on which the singular near part of the kernel is
    integrated in polar coordinates. For targets on the surface, `vcjax.choose` makes the rule.
    Every point of the target grid is then the centre of a patch.

    For points off the surface, `vcjax.choose_off_surface` makes the rule. The centre of a patch is
    then the nearest point of the surface, and the target grid has no meaning. The core is the inner
    part of a patch, where the kernel of points near the surface is nearly singular.

    Attributes
    ----------
    nfp : number of field periods.
    half_period : whether the grids cover half a period of a stellarator-symmetric configuration.
    surface_shape, src_shape, trg_shape : (nphi, ntheta) of the grids of the surface X, of the field
        B, and of the targets.
    quad_nphi, quad_ntheta : numbers of quadrature nodes of the *whole* torus along phi and theta.
        The targets are among the nodes.
    patch_phi, patch_theta : semi-axes of a patch, in quadrature nodes.
    margin : number of nodes beyond each side of a patch that the interpolation to polar nodes may
        use.
    radial_count, angular_count : numbers of radii and angles of the polar nodes of a patch. Radii
        in the core are not counted.
    lagrange_count : largest number of points of the local Lagrange interpolation; even.
    cutoff : upper limit of alpha R. Here alpha is the cut-off rate of the near kernel, and R is the
        least distance from a target to the rim of its patch. The near kernel ends at the rim.
    core_count : number of radii in the core of a patch, if the rule is for points off the surface;
        otherwise 0.
    digits : accuracy that the rule was chosen for; surfaces and fields are checked against it.
    gradient : whether `digits` is the accuracy of gradients instead of fields.
    """

    nfp: int
    half_period: bool
    surface_shape: tuple[int, int]
    src_shape: tuple[int, int]
    trg_shape: tuple[int, int]
    quad_nphi: int
    quad_ntheta: int
    patch_phi: int
    patch_theta: int
    margin: int
    radial_count: int
    angular_count: int
    lagrange_count: int
    cutoff: float
    core_count: int = 0
    digits: int = 1
    gradient: bool = False

    def __post_init__(self):
        self.check()

    def check(self) -> None:
        """Raise `VcjaxError` if a value is of a wrong type or out of range, or values do not fit.

        Values do not fit together, for example, if the targets are not among the quadrature nodes.
        """
        wrong = [n for n, low in _LEAST.items() if not is_integer(getattr(self, n), low)]
        for name in ("surface_shape", "src_shape", "trg_shape"):
            wrong += [name] * (not _is_grid(getattr(self, name)))
        for name in ("half_period", "gradient"):
            wrong += [name] * (not isinstance(getattr(self, name), bool | np.bool_))
        cutoff = self.cutoff
        is_cutoff = isinstance(cutoff, int | float | np.floating) and 0 < cutoff < _LARGEST_CUTOFF
        wrong += ["cutoff"] * (not is_cutoff)
        if wrong:
            got = ", ".join(f"{name}={getattr(self, name)!r}" for name in wrong)
            raise VcjaxError(
                f"Rule got values that have a wrong type or are out of range: {got}. Make rules "
                "with vcjax.choose or vcjax.choose_off_surface."
            )
        missed = [demand for demand, met in self._demands().items() if not met]
        if missed:
            raise VcjaxError(
                f"Rule got sizes that do not fit together; a rule needs {', '.join(missed)}. "
                "Make rules with vcjax.choose or vcjax.choose_off_surface."
            )

    def _demands(self) -> dict[str, bool]:
        along, cutoff = self.images * self.trg_shape[0], self.cutoff
        return {
            f"quad_nphi={self.quad_nphi} to be a multiple of {along}, the number of rows of "
            "targets on the whole torus": self.quad_nphi % along == 0,
            f"quad_ntheta={self.quad_ntheta} to be a multiple of {self.trg_shape[1]}, the number "
            "of columns of targets": self.quad_ntheta % self.trg_shape[1] == 0,
            f"angular_count={self.angular_count} to be a multiple of 4": (
                self.angular_count % 4 == 0
            ),
            f"lagrange_count={self.lagrange_count} to be even": self.lagrange_count % 2 == 0,
            f"a patch with its margin ({2 * self.reach_phi} x {2 * self.reach_theta} nodes) to be "
            f"narrower than the grid ({self.quad_nphi} x {self.quad_ntheta} nodes)": (
                2 * self.reach_phi < self.quad_nphi and 2 * self.reach_theta < self.quad_ntheta
            ),
            # Reject values far below the values that `choose` takes for the same cut-off.
            f"patch_phi={self.patch_phi}, patch_theta={self.patch_theta}, "
            f"radial_count={self.radial_count}, angular_count={self.angular_count} and "
            f"lagrange_count={self.lagrange_count} to be large enough for cutoff={cutoff:.3g}": (
                min(self.patch_phi, self.patch_theta) >= cutoff**2 / (2 * np.pi)
                and self.radial_count >= 2 * cutoff
                and self.angular_count >= 4 * cutoff
                and self.lagrange_count >= 2 * cutoff
            ),
        }

    @property
    def target_count(self) -> int:
        """Number of points of the target grid."""
        return self.trg_shape[0] * self.trg_shape[1]

    @property
    def images(self) -> int:
        """Number of copies of the target grid in a torus: nfp, or 2 nfp for half periods."""
        return self.nfp * (2 if self.half_period else 1)

    @property
    def period_rows(self) -> int:
        """Number of rows of quadrature nodes in one field period."""
        return self.quad_nphi // self.nfp

    @property
    def stride_phi(self) -> int:
        """Number of rows of quadrature nodes from one row of targets to the next."""
        return self.quad_nphi // (self.images * self.trg_shape[0])

    @property
    def stride_theta(self) -> int:
        """Number of columns of quadrature nodes from one column of targets to the next."""
        return self.quad_ntheta // self.trg_shape[1]

    @property
    def reach_phi(self) -> int:
        """Number of nodes of a patch on either side of its centre along phi, with the margin."""
        return self.patch_phi + self.margin

    @property
    def reach_theta(self) -> int:
        """Number of nodes of a patch on either side of its centre along theta, with the margin."""
        return self.patch_theta + self.margin

    @property
    def stencil_counts(self) -> tuple[int, int]:
        """Numbers of points of the Lagrange interpolation to polar nodes, along phi and theta.

        The first is the smaller of `lagrange_count` and 2 `reach_phi`, the second is the smaller of
        `lagrange_count` and 2 `reach_theta`.
        """
        return (
            min(self.lagrange_count, 2 * self.reach_phi),
            min(self.lagrange_count, 2 * self.reach_theta),
        )

    @property
    def overlap(self) -> tuple[int, int]:
        """Numbers of rows and columns of nodes that are added on each side of a period."""
        between = self.lagrange_count // 2 if self.core_count else 0
        return self.reach_phi + between, self.reach_theta + between

    @property
    def continued_shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the nodes of one period, with `overlap` on each side."""
        rows, columns = self.overlap
        return self.period_rows + 2 * rows, self.quad_ntheta + 2 * columns

    @property
    def spacing(self) -> tuple[float, float]:
        """Angles between neighbouring quadrature nodes along phi and along theta, in radians."""
        return 2 * np.pi / self.quad_nphi, 2 * np.pi / self.quad_ntheta

    @property
    def first_angle(self) -> float:
        """Toroidal angle of the first row of quadrature nodes and of targets, in radians."""
        return np.pi / (self.nfp * 2 * self.trg_shape[0]) if self.half_period else 0.0


def is_integer(value, low: int) -> bool:
    """Return whether a value is an integer of Python or NumPy, not a bool, and at least `low`."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= low


def _is_grid(shape) -> bool:
    return isinstance(shape, tuple) and len(shape) == 2 and all(is_integer(n, 1) for n in shape)
