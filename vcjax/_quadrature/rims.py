"""Check whether patches are wide enough on a bent surface: measure from the centres to the rims."""

import itertools

import numpy as np

from vcjax._geometry import resample, symmetry

_BATCH = 64
"""Largest number of patches for which rims are computed together."""
# Largest number of sample points along phi, and number of sample points along theta.
_SAMPLE = 20, 48
# Number of points computed on each rim. Where a cross-section rotates fast along phi, 12 points
# miss the part of the rim that is closest to the centre of the patch.
_POINTS = 24
# Modes of the surface are ignored below this amplitude, relative to the largest amplitude.
_LEAST_MODE = 1e-3


class Rims:
    """The distances from sample points of a surface to the rims of their patches.

    Each sample point is the centre of a patch. For evaluation off the surface, the rim must be far
    enough from every point on the normal through the centre, on both sides of the surface. Let A be
    the square of the distance from the centre to a point q of the rim. Let s be the height of q
    above the tangent plane, and d the height of a point p on the normal. The distance R from p to q
    satisfies R^2 = A - 2 d s + d^2. The accuracy depends on R^4 / (R^2 - d^2) (see
    `vcjax._kernels.rays`). This quotient is least near d = s/2, where it is about A - s^2 / 2.

    If the nodes lie on a straight line, the error of the trapezoidal rule is about
    exp(-(pi R / h)^2 / T^2), with the spacing h of the nodes and the cut-off T. If the nodes lie on
    a circle, the error is larger. Let beta be the angle of an arc of length R on the
    circle. For a point on the circle, the exponent is multiplied by 1 - beta^2 / 12, to leading
    order. Just outside the circle, this factor can be even smaller. If the part of the rim closest
    to the centre lies along phi, the least factor over all heights above the circle is
    1 - 5 beta^2 / 24, at a height of beta^2 / 4 times the radius of the circle. Off the
    surface, R^2 must therefore be larger (`Demand.bending`).

    The samples (3, n, m) are co-rotating points of one period. `metric` (3, k) is the first
    fundamental form (E, F, G) at points of the surface. With `both_sides`, distances are measured
    from points off the surface as well. If the surface is stellarator-symmetric (`symmetric`),
    distances are measured only on half of the period.
    """

    def __init__(
        self,
        samples: np.ndarray,
        nfp: int,
        metric: np.ndarray,
        *,
        both_sides: bool,
        symmetric: bool,
    ):
        self.metric = metric
        n, m = samples.shape[1:]
        spectrum = np.fft.fft2(samples, axes=(1, 2), norm="forward")
        phi_modes, theta_modes = nfp * np.fft.fftfreq(n, 1 / n), np.fft.fftfreq(m, 1 / m)
        kept = [np.abs(spectrum).max(axis=(0, axis)) for axis in (2, 1)]
        phi_kept, theta_kept = (share > _LEAST_MODE * share.max() for share in kept)
        self._modes = phi_modes[phi_kept], theta_modes[theta_kept]
        strongest = spectrum[:, phi_kept][:, :, theta_kept]
        self._spectrum = np.concatenate(list(strongest), axis=1)
        rows, columns = _SAMPLE
        angles = symmetry.grid_angles(min(2 * n, rows), nfp, False)
        if symmetric:
            angles = symmetry.without_images(angles)
        theta = symmetry.equispaced(0.0, 2 * np.pi / columns, columns)
        places = zip((angles, theta), self._modes, strict=True)
        self._waves = [np.exp(1j * np.outer(place, modes)) for place, modes in places]
        self._x = self._moved(np.zeros((1, 2)))
        _, x_phi, x_theta = resample.tangents_at(samples, nfp, angles, columns)
        normal = np.cross(x_phi, x_theta, axis=0)
        self._half_normal = np.sqrt(0.5) * both_sides * normal / np.linalg.norm(normal, axis=0)
        self._hardest = slice(0, 1)

    def first_clear(
        self, quad, semi_axes, radius_in_nodes: float, bending: float = 0.0
    ) -> int | None:
        """Return the index of the first of k patches that is wide enough at all sample points.

        In node spacings, the distance from a sample point to the rim of the patch around it must
        be at least `radius_in_nodes` sqrt(1 + `bending` beta^2), with beta as in `Rims`. Return
        None if no patch is wide enough. Each patch has its own grid: `quad` (2, k) are the numbers
        of nodes along phi (whole torus) and theta. `semi_axes` (2, k) are the semi-axes of the
        patches along phi and theta, in radians.
        """
        angle = 2 * np.pi * radius_in_nodes / quad[1]
        radius = radius_in_nodes * np.sqrt(1 + bending * angle**2)

        def room(which, rows):
            return self._room(quad[:, which], semi_axes[:, which], radius[which], rows)

        count = quad.shape[1]
        # The first batches are small, because one of the first patches often passes.
        edges = np.unique(np.minimum((0, 1, 8, *range(_BATCH, count, _BATCH), count), count))
        for first, last in itertools.pairwise(edges):
            left = np.arange(first, last)
            # Most patches fail at the row of sample points where the previous patch failed.
            while (left := left[room(left, self._hardest)[:, 0] >= 1]).size:
                by_row = room(left[:1], slice(None))[0]
                if by_row.min() >= 1:
                    return int(left[0])
                self._hardest = slice(int(by_row.argmin()), int(by_row.argmin()) + 1)
                left = left[1:]
        return None

    def _room(self, quad, semi_axes, radius: np.ndarray, rows: slice) -> np.ndarray:
        """Return the least (distance to the rim / required distance)^2 over each row of samples.

        The result is (k, row), for k patches. The distance is from a sample point to the rim of the
        patch around it. `radius`, (k,), contains the required distances in node spacings.
        """
        angle = 2 * np.pi * np.arange(_POINTS) / _POINTS
        rim = semi_axes.T[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        beside = (2 * np.pi / quad.T)[:, None] * np.concatenate([np.eye(2), -np.eye(2)])
        moves = np.concatenate([rim, beside], axis=1)
        to = self._moved(moves.reshape(-1, 2), rows) - self._x[:, :, rows]
        square = (to**2).sum(axis=1) - (to * self._half_normal[:, rows]).sum(axis=1) ** 2
        square = square.reshape(*moves.shape[:2], *square.shape[1:])
        least = radius[:, None, None] ** 2 * square[:, _POINTS:].max(axis=1)
        return (square[:, :_POINTS].min(axis=1) / least).min(axis=2)

    def _moved(self, by: np.ndarray, which: slice = slice(None)) -> np.ndarray:
        """Return the sample points (k, 3, row, column), moved by pairs (k, 2) of angles.

        The components are in the co-rotating frame of the original points, not of the moved ones.
        """
        phases = (np.exp(1j * np.outer(by[:, axis], self._modes[axis])) for axis in (0, 1))
        waves = self._waves[0][which], self._waves[1]
        left, right = (wave * phase[:, None] for wave, phase in zip(waves, phases, strict=True))
        # Few larger products take less time than a product for each component.
        count, rows, _ = left.shape
        moved = (left @ self._spectrum).reshape(count, rows * 3, right.shape[2])
        moved = np.real(moved @ right.swapaxes(1, 2)).reshape(count, rows, 3, right.shape[1])
        x, y, z = np.moveaxis(moved, 2, 0)
        cosine, sine = np.cos(by[:, :1, None]), np.sin(by[:, :1, None])
        return np.stack([cosine * x - sine * y, sine * x + cosine * y, z], axis=1)
