"""The rounding errors of the nodes of a surface."""

import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import toroidal_field
from vcjax import problems
from vcjax._geometry.nodes import one_period


@pytest.mark.parametrize("on_host", [True, False])
def test_nodes_and_normals_of_a_slender_torus_have_small_rounding_errors(on_host, monkeypatch):
    """The near part of a gradient divides these errors by the square of the node spacing."""
    radius, minor = 1.0, 0.02
    torus = problems.circular_torus(major_radius=radius, minor_radius=minor)
    X = torus.points(4, 8, half_period=True)
    B = toroidal_field(X)
    rule = vcjax.choose(X, B, 6, nfp=1, half_period=True, trg_nphi=1, trg_ntheta=8)
    monkeypatch.setattr("vcjax._geometry.nodes.on_host", lambda *_: on_host)
    nodes = np.asarray(vcjax.prepare(rule, jnp.asarray(X)).nodes)
    (rows, columns), (above, beside) = rule.continued_shape, rule.overlap
    turn = 2 * np.arccos(np.longdouble(-1))
    phi = turn / 4 + turn / rule.quad_nphi * (np.arange(rows) - above)[:, None]
    theta = turn / rule.quad_ntheta * (np.arange(columns) - beside)
    R = radius + np.longdouble(minor) * np.cos(theta)
    outward = [np.cos(phi) * np.cos(theta), np.sin(phi) * np.cos(theta)]
    outward.append(np.broadcast_to(np.sin(theta), outward[0].shape))
    points = [np.cos(phi) * R, np.sin(phi) * R, minor * outward[2]]
    area = minor * R * turn**2 / (rule.quad_nphi * rule.quad_ntheta)
    apart = nodes[:3] - np.stack(points), nodes[3:] / area - np.stack(outward)
    assert rough_part(apart[0], rule) < 3e-16
    assert rough_part(apart[1], rule) < 4e-15


def rough_part(errors, rule):
    """Return the largest error of one period (3, row, column) without its modes below 8.

    Errors in modes below 8 only mean that the surface is slightly different.
    """
    spectrum = np.fft.fft2(one_period(errors, rule).astype(float))
    rows, columns = (np.abs(np.fft.fftfreq(n, 1 / n)) for n in spectrum.shape[1:])
    spectrum[:, np.maximum.outer(rows, columns) < 8] = 0.0
    return np.abs(np.fft.ifft2(spectrum).real).max()
