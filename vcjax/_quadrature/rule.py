"""Rule: everything about an evaluation that is decided before its arrays are made."""

from dataclasses import dataclass

import numpy as np

from vcjax._errors import VcjaxError
from vcjax._pytree import versioned

_LEAST = dict(
    nfp=1, quad_nphi=1, quad_ntheta=1, patch_phi=1, patch_theta=1, margin=0,
    radial_count=1, angular_count=4, lagrange_count=2, core_count=0, digits=1,
)  # fmt: skip
_LARGEST_CUTOFF = 10.0


@versioned
@dataclass(frozen=True)
class Rule:
    """Sizes and constants of a quadrature; immutable, hashable, made by `vcjax.choose`.

    Attributes
    ----------
    nfp, half_period : symmetry of the surface and of its grids.
    surface_shape, src_shape, trg_shape : (nphi, ntheta) of X, of the field, and of the targets.
    quad_nphi, quad_ntheta : quadrature nodes of the *whole* torus; targets are among them.
    patch_phi, patch_theta : semi-axes of the polar patch, in quadrature nodes.
    margin : nodes around the patch that the interpolation to polar nodes may use.
    radial_count, angular_count : polar nodes.
    lagrange_count : points of the local Lagrange interpolation (even).
    cutoff : the near kernel is set to zero beyond the patch radius R, where alpha R = cutoff.
    core_count : radii in the core of a patch, for points off the surface; else 0.
    digits : accuracy that the rule was chosen for; data are compared with it.
    gradient : whether the digits are those of a gradient.
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
        """Raise `VcjaxError` unless all values are of their kind and fit together."""
        wrong = [n for n, low in _LEAST.items() if not _is_integer(getattr(self, n), low)]
        wrong += [
            name
            for name in ("surface_shape", "src_shape", "trg_shape")
            if not _is_grid(getattr(self, name))
        ]
        wrong += [
            name
            for name in ("half_period", "gradient")
            if not isinstance(getattr(self, name), bool | np.bool_)
        ]
        cutoff = self.cutoff
        is_cutoff = isinstance(cutoff, int | float | np.floating) and 0 < cutoff < _LARGEST_CUTOFF
        wrong += ["cutoff"] * (not is_cutoff)
        if wrong:
            got = ", ".join(f"{name}={getattr(self, name)!r}" for name in wrong)
            raise VcjaxError(f"Rule got {got}. vcjax.choose makes rules that fit.")
        missed = [demand for demand, met in self._demands().items() if not met]
        if missed:
            raise VcjaxError(
                f"Rule got sizes that do not fit together; it needs {', '.join(missed)}. "
                "vcjax.choose makes rules that fit."
            )

    def _demands(self) -> dict[str, bool]:
        along, cutoff = self.images * self.trg_shape[0], self.cutoff
        return {
            f"quad_nphi a multiple of the {along} rows of targets": self.quad_nphi % along == 0,
            f"quad_ntheta a multiple of the {self.trg_shape[1]} targets in theta": (
                self.quad_ntheta % self.trg_shape[1] == 0
            ),
            "angular_count a multiple of 4": self.angular_count % 4 == 0,
            "lagrange_count even": self.lagrange_count % 2 == 0,
            "the patch narrower than the grid": (
                2 * self.reach_phi < self.quad_nphi and 2 * self.reach_theta < self.quad_ntheta
            ),
            # Less than half of the numbers that `choose` takes for a cut-off.
            "patches and polar nodes as fine as the cutoff": (
                min(self.patch_phi, self.patch_theta) >= cutoff**2 / (2 * np.pi)
                and self.radial_count >= 2 * cutoff
                and self.angular_count >= 4 * cutoff
                and self.lagrange_count >= 2 * cutoff
            ),
        }

    @property
    def target_count(self) -> int:
        """Number of targets."""
        return self.trg_shape[0] * self.trg_shape[1]

    @property
    def images(self) -> int:
        """Copies of the target grid that make a torus: nfp, twice as many for half periods."""
        return self.nfp * (2 if self.half_period else 1)

    @property
    def period_rows(self) -> int:
        """Toroidal quadrature rows of one field period."""
        return self.quad_nphi // self.nfp

    @property
    def stride_phi(self) -> int:
        """Quadrature rows from one target row to the next."""
        return self.quad_nphi // (self.images * self.trg_shape[0])

    @property
    def stride_theta(self) -> int:
        """Quadrature columns from one target column to the next."""
        return self.quad_ntheta // self.trg_shape[1]

    @property
    def reach_phi(self) -> int:
        """Patch nodes on either side of the target, margin included."""
        return self.patch_phi + self.margin

    @property
    def reach_theta(self) -> int:
        """Patch nodes on either side of the target, margin included."""
        return self.patch_theta + self.margin

    @property
    def overlap(self) -> tuple[int, int]:
        """Rows and columns of nodes that are continued on either side of a period."""
        between = self.lagrange_count // 2 if self.core_count else 0
        return self.reach_phi + between, self.reach_theta + between

    @property
    def continued_shape(self) -> tuple[int, int]:
        """Rows and columns of the nodes of one period with their `overlap`."""
        rows, columns = self.overlap
        return self.period_rows + 2 * rows, self.quad_ntheta + 2 * columns

    @property
    def spacing(self) -> tuple[float, float]:
        """Quadrature steps in phi and theta."""
        return 2 * np.pi / self.quad_nphi, 2 * np.pi / self.quad_ntheta

    @property
    def first_angle(self) -> float:
        """Toroidal angle of the first quadrature row, which is the first target row."""
        return np.pi / (self.nfp * 2 * self.trg_shape[0]) if self.half_period else 0.0


def _is_integer(value, low: int) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    return int(value) >= low


def _is_grid(shape) -> bool:
    return isinstance(shape, tuple) and len(shape) == 2 and all(_is_integer(n, 1) for n in shape)
