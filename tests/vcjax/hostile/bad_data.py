"""Surfaces and fields with typical mistakes, and correct data in unusual forms."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tests.vcjax.common import EQUILIBRIA, other_way, turn
from vcjax import problems, wout
from vcjax._geometry import symmetry


class Data(NamedTuple):
    """A surface and a field on it."""

    X: np.ndarray
    B: np.ndarray
    nfp: int
    half_period: bool


def of_problem(problem) -> Data:
    return Data(problem.X, problem.B, problem.nfp, problem.half_period)


def of_wout(path, half_period=True, finer=1) -> Data:
    equilibrium = wout.read_wout(path)
    nphi, ntheta = equilibrium.exact_grid(half_period=half_period)
    grid = finer * nphi, finer * ntheta
    X, B = (
        make(*grid, half_period=half_period) for make in (equilibrium.boundary, equilibrium.field)
    )
    return Data(X, B, equilibrium.nfp, half_period)


@cache
def sound() -> dict[str, Data]:
    """Return correct data by name; the tests change copies of these data."""
    return {
        "W7-X": of_problem(problems.w7x(3)),
        "ellipse": of_problem(problems.rotating_ellipse(3)),
        "ellipse, full period": of_problem(problems.rotating_ellipse(3, half_period=False)),
        "axisymmetric": of_problem(problems.axisymmetric(3)),
        "equilibrium": of_wout(EQUILIBRIA / "wout_ellipse.nc"),
    }


def _half_step(values, parity, data: Data, axis: int):
    """Return the exact values half a step further along an angle."""
    rows = values.shape[0]
    alike = data.nfp, data.half_period
    v = symmetry.field_period(np.moveaxis(values, -1, 0), *alike, parity=parity)
    start, step = symmetry.field_angles(v.shape[1], *alike)
    angles = symmetry.equispaced(start, step, v.shape[1])
    modes = np.fft.fftfreq(v.shape[axis + 1], 1 / v.shape[axis + 1])
    phase = np.exp(1j * np.pi * modes / modes.size)
    v = np.fft.ifft(
        np.fft.fft(v, axis=axis + 1) * (phase[:, None] if axis == 0 else phase), axis=axis + 1
    )
    v = symmetry.rotate(v.real, angles + (step / 2 if axis == 0 else 0.0))
    return np.moveaxis(v[:, -rows:], 0, -1)


def _along_theta(values):
    return 2 * np.pi * np.arange(values.shape[1])[:, None] / values.shape[1]


def _one_point(values, size):
    spoilt = values.copy()
    spoilt[values.shape[0] // 2, 5] += size
    return spoilt


def _noise(values, size):
    return values + size * np.random.default_rng(0).normal(size=values.shape)


def _largest(values):
    return np.abs(values).max()


def _lengths(values):
    return np.linalg.norm(values, axis=2, keepdims=True)


def _cylindrical(data: Data):
    angles = symmetry.grid_angles(data.B.shape[0], data.nfp, data.half_period)
    return np.moveaxis(symmetry.rotate(np.moveaxis(data.B, -1, 0), -angles), 0, -1)


def _minor(X):
    return np.linalg.norm(X - X.mean(axis=1, keepdims=True), axis=2).mean()


FIELDS: dict[str, Callable[[Data], np.ndarray]] = {
    "theta the other way": lambda d: other_way(d.B),
    "phi the other way": lambda d: d.B[::-1],
    "both the other way": lambda d: other_way(d.B)[::-1],
    "x and y exchanged": lambda d: d.B[..., [1, 0, 2]],
    "y, z, x": lambda d: d.B[..., [1, 2, 0]],
    "-x": lambda d: d.B * [-1, 1, 1],
    "-z": lambda d: d.B * [1, 1, -1],
    "no z": lambda d: d.B * [1, 1, 0],
    "turned by 5 degrees": lambda d: d.B @ turn(np.pi / 36).T,
    "half a step off in theta": lambda d: _half_step(d.B, symmetry.FIELD_PARITY, d, 1),
    "half a step off in phi": lambda d: _half_step(d.B, symmetry.FIELD_PARITY, d, 0),
    "a step off in theta": lambda d: np.roll(d.B, 1, axis=1),
    "a quarter off in theta": lambda d: np.roll(d.B, d.B.shape[1] // 4, axis=1),
    "a step off in phi": lambda d: np.roll(d.B, 1, axis=0),
    "axes swapped": lambda d: d.B.swapaxes(0, 1),
    "components first, reshaped": lambda d: np.moveaxis(d.B, -1, 0).reshape(d.B.shape),
    "twice in phi": lambda d: np.tile(d.B, (2, 1, 1)),
    "each row twice": lambda d: np.repeat(d.B, 2, axis=0),
    "every eighth column": lambda d: d.B[:, ::8],
    "one row": lambda d: d.B[:1],
    "cylindrical components": _cylindrical,
    "unit vectors": lambda d: d.B / _lengths(d.B),
    "times its strength": lambda d: d.B * _lengths(d.B),
    "absolute values": lambda d: np.abs(d.B),
    "a tenth stronger on one side": lambda d: d.B * (1 + 0.1 * np.cos(_along_theta(d.B))),
    "two decimals": lambda d: np.around(d.B / _largest(d.B), 2),
    "a wrong point": lambda d: _one_point(d.B, _largest(d.B)),
    "a point off by a hundredth": lambda d: _one_point(d.B, 0.01 * _largest(d.B)),
    "a column of zeros": lambda d: np.where(np.arange(d.B.shape[1])[:, None] == 3, 0.0, d.B),
    "noise of a hundredth": lambda d: _noise(d.B, 0.01 * _largest(d.B)),
    "half zero": lambda d: np.where(np.arange(d.B.shape[1])[:, None] < d.B.shape[1] // 2, 0.0, d.B),
}
"""Changes that spoil the field; the surface stays the same."""

SURFACES: dict[str, Callable[[Data], np.ndarray]] = {
    "theta the other way": lambda d: other_way(d.X),
    "half a step off in theta": lambda d: _half_step(d.X, symmetry.POSITION_PARITY, d, 1),
    "half a step off in phi": lambda d: _half_step(d.X, symmetry.POSITION_PARITY, d, 0),
    "a step off in theta": lambda d: np.roll(d.X, 1, axis=1),
    "stretched upwards by a fifth": lambda d: d.X * [1, 1, 1.2],
    "turned by 20 degrees": lambda d: d.X @ turn(np.pi / 9).T,
    "every fourth column": lambda d: d.X[:, ::4],
    "three columns": lambda d: d.X[:, [0, 7, 14]],
    "a point off by a hundredth": lambda d: _one_point(d.X, 0.01 * _minor(d.X)),
    "noise of a hundredth": lambda d: _noise(d.X, 0.01 * _minor(d.X)),
}
"""Changes that spoil the surface; the field stays the same."""

ALLOWED = {
    # With these changes, an axisymmetric problem is another valid problem. The currents of the new
    # problem may flow elsewhere.
    *(
        ("axisymmetric", kind)
        for kind in (
            *("theta the other way", "phi the other way", "both the other way"),
            *("x and y exchanged", "-x", "-z", "no z"),
            *("turned by 20 degrees", "one row"),
        )
    ),
    # The same surface, or another valid surface.
    *(
        (name, "every fourth column")
        for name in ("axisymmetric", "ellipse", "ellipse, full period")
    ),
    ("axisymmetric", "stretched upwards by a fifth"),
}
"""Pairs (data, change) that give data which are still valid."""


def good() -> Iterator[tuple[str, Data, int]]:
    """Yield names, correct data, and a number of digits that the data resolve."""
    for half in (True, False):
        for digits in (2, 3):
            yield f"W7-X {half}", of_problem(problems.w7x(digits, half_period=half)), digits
        for digits in (2, 3, 4):
            for nfp in (4, 10):
                ellipse = problems.rotating_ellipse(digits, half_period=half, nfp=nfp)
                yield f"ellipse {nfp} {half}", of_problem(ellipse), digits
    for digits in (2, 4, 6, 9, 12):
        for section in ("shaped", "circular"):
            for radius in (0.1, 0.5, 1.0):
                torus = problems.axisymmetric(digits, cross_section=section, minor_radius=radius)
                yield f"{section} {radius}", of_problem(torus), digits
    for path in (wout.tokamak_path(), *sorted(EQUILIBRIA.glob("wout_*.nc"))):
        for half in (True, False):
            for finer in (1, 2):
                for digits in (3, 6, 9, 12):
                    yield f"{path.name} {half} {finer}", of_wout(path, half, finer), digits
    for name, data in sound().items():
        for change, same in SAME.items():
            if data.half_period and change in _WHOLE_PERIOD:
                continue
            X, B = same(data)
            yield f"{name}, {change}", data._replace(X=X, B=B), 2 if "W7-X" in name else 3


def _scaled(length: float, strength: float):
    return lambda d: (length * d.X, strength * d.B)


def _both(change: Callable[[np.ndarray], Any]):
    return lambda d: (change(d.X), change(d.B))


def _backwards(values, nfp: int):
    """Return the mirror image at y = 0 of a whole period: rows from -phi, theta reversed."""
    rows = other_way(values)[-np.arange(len(values)) % len(values)]
    rows[1:] = rows[1:] @ turn(-2 * np.pi / nfp).T
    return rows * [1, -1, 1]


SAME: dict[str, Callable[[Data], tuple]] = {
    **{f"lengths times {s:g}": _scaled(s, 1.0) for s in (1e-40, 1e40)},
    **{f"fields times {s:g}": _scaled(1.0, s) for s in (1e-40, 1e40)},
    **{f"turned by {a:g}": _both(lambda v, a=a: v @ turn(a).T) for a in (0.1, 1.0, 3.0)},
    "theta the other way": _both(other_way),
    "mirrored upwards": _both(lambda v: v * [1, 1, -1]),
    "mirrored upwards, theta the other way": _both(lambda v: other_way(v) * [1, 1, -1]),
    "both angles the other way": lambda d: (_backwards(d.X, d.nfp), _backwards(d.B, d.nfp)),
    "theta from the other side": lambda d: tuple(
        np.roll(v, v.shape[1] // 2, axis=1) for v in _even(d)
    ),
    "moved up": lambda d: (d.X + [0, 0, 20.0 * _minor(d.X)], d.B),
}
"""Changes after which the data are still correct."""

_WHOLE_PERIOD = {
    "both angles the other way",
    "theta from the other side",
    "moved up",
    *(f"turned by {a:g}" for a in (0.1, 1.0, 3.0)),
}
"""Changes that break the symmetry planes of a half period."""


def _even(data: Data):
    """Return X, and B resampled on an even number of columns."""
    columns = data.B.shape[1] // 2 * 2
    if columns == data.B.shape[1]:
        return data.X, data.B
    spectrum = np.fft.rfft(data.B, axis=1)[:, : columns // 2 + 1] * (columns / data.B.shape[1])
    return data.X, np.fft.irfft(spectrum, n=columns, axis=1)
