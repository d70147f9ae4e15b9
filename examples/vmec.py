"""Split the field on the boundary of a VMEC equilibrium, and print the normal components.

On the boundary, B is tangential, so B_ext and B_int have opposite normal components. Coils match
the equilibrium if the normal component of their field is equal to the normal component of B_ext.
Run: pip install .; python examples/vmec.py [wout_file.nc]
"""

import sys
from typing import Any

import jax
import numpy as np

import vcjax
from vcjax import wout


def main(path=None) -> None:
    jax.config.update("jax_enable_x64", True)
    equilibrium = wout.read_wout(path or wout.tokamak_path())
    symmetry: dict[str, Any] = dict(nfp=equilibrium.nfp, half_period=True)
    grid = 8, 64
    X, B = equilibrium.boundary(*grid), equilibrium.field(*grid)
    print(f"spectral tail of B         {vcjax.spectral_tail(B, **symmetry):.1e}")

    rule = vcjax.choose(X, B, 4, **symmetry)
    casing = vcjax.prepare(rule, X)
    external = np.asarray(vcjax.external_field(casing, B))
    internal = np.asarray(vcjax.internal_field(casing, B))
    print(f"estimated error            {vcjax.error_estimate(casing, B):.1e} of max |B|")

    normal = equilibrium.unit_normal(*grid)
    for name, field in (("total", B), ("external", external), ("internal", internal)):
        largest = np.abs((field * normal).sum(axis=2)).max()
        print(f"largest normal field, {name:8} {largest:.4f} T")


if __name__ == "__main__":
    main(*sys.argv[1:])
