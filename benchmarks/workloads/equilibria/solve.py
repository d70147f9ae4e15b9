"""Compute an equilibrium of vcjax's tests again: ``python solve.py NAME OUTPUT.nc``.

NAME is one of `NAMES`:

- ``tokamak``: a tokamak with a fixed boundary, a reversed D shape (the triangularity is negative),
  a major radius of 6 m, a minor radius of 2 m, a magnetic field of 5 T and a volume-averaged beta
  of 2.9 %;
- ``ellipse``: a rotating ellipse with a fixed boundary, three field periods and a beta of 0.6 %;
- ``free_boundary_8``, ``free_boundary_12``: a tokamak with a free boundary, a plasma current of
  6 MA and a magnetic field of 5 T, computed with 8 or 12 poloidal modes. The coils are
  `vcjax.problems.tokamak_coils`.

The script needs the large package vmecpp (``pip install vmecpp``), which vcjax does not need. A
file is written only if the solver has converged.
"""

import argparse

import numpy as np
from scipy.special import jv


def tokamak():
    """Return the inputs of VMEC++ for a tokamak with a fixed boundary and a given iota profile.

    The boundary is R = R0 + a cos(theta - delta sin(theta)), Z = kappa a sin(theta), with the major
    radius R0, the minor radius a, the elongation kappa and delta = 0.3. The triangularity is
    negative: at the highest point, R is larger than R0.
    """
    major_radius, minor_radius, elongation, triangularity, modes = 6.0, 2.0, 1.6, 0.3, 12
    m = np.arange(modes)
    r = minor_radius * (jv(m - 1, -triangularity) + jv(-m - 1, -triangularity))
    r[0] = major_radius + minor_radius * jv(-1, -triangularity)
    z = np.zeros(modes)
    z[1] = elongation * minor_radius
    return dict(
        nfp=1,
        mpol=modes,
        ntor=0,
        ns_array=np.array([11, 51]),
        ftol_array=np.array([1e-10, 1e-14]),
        niter_array=np.array([2000, 10000]),
        phiedge=5.0 * np.pi * elongation * minor_radius**2,
        ncurr=0,
        ai=np.array([1.0, -0.7]),
        am=8.5e5 * np.array([1.0, -2.0, 1.0]),
        raxis_c=np.array([major_radius + 0.1]),
        zaxis_s=np.zeros(1),
        rbc=r[:, None],
        zbs=z[:, None],
    )


def ellipse():
    """Return the inputs of VMEC++ for a rotating ellipse without net plasma current.

    The fixed boundary is R = R0 + b cos(theta) - c cos(theta - 3 phi),
    Z = b sin(theta) + c sin(theta - 3 phi), with R0 = 3 m, b = 0.6 m and c = 0.2 m.
    """
    mpol, ntor = 5, 4
    r, z = np.zeros((mpol, 2 * ntor + 1)), np.zeros((mpol, 2 * ntor + 1))
    r[0, ntor], r[1, ntor], z[1, ntor] = 3.0, 0.6, 0.6
    r[1, ntor + 1], z[1, ntor + 1] = -0.2, 0.2
    return dict(
        nfp=3,
        mpol=mpol,
        ntor=ntor,
        ns_array=np.array([9, 25]),
        ftol_array=np.array([1e-10, 1e-13]),
        niter_array=np.array([2000, 10000]),
        phiedge=1.0,
        ncurr=1,
        curtor=0.0,
        am=5e3 * np.array([1.0, -1.0]),
        raxis_c=np.append(3.0, np.zeros(ntor)),
        zaxis_s=np.zeros(ntor + 1),
        rbc=r,
        zbs=z,
    )


def free_boundary(mpol: int, surfaces: int):
    """Return the inputs of VMEC++ for a free-boundary tokamak with a plasma current of 6 MA.

    The initial guess of the boundary is a torus with a circular cross-section. `mpol` is the
    number of poloidal modes, `surfaces` the number of flux surfaces.
    """
    r, z = np.zeros((mpol, 1)), np.zeros((mpol, 1))
    r[:2, 0], z[1, 0] = (6.0, 1.5), 1.5
    return dict(
        nfp=1,
        mpol=mpol,
        ntor=0,
        ns_array=np.array([11, surfaces]),
        ftol_array=np.array([1e-10, 1e-13]),
        niter_array=np.array([4000, 20000]),
        delt=0.7,
        phiedge=5.0 * np.pi * 1.5**2,
        ncurr=1,
        curtor=6e6,
        ac=np.array([1.0, -1.0]),
        am=4e5 * np.array([1.0, -2.0, 1.0]),
        lfreeb=True,
        nvacskip=6,
        raxis_c=np.array([6.1]),
        zaxis_s=np.zeros(1),
        rbc=r,
        zbs=z,
    )


def coil_field(r, phi, z):
    """Return the field (B_R, B_phi, B_Z) of `tokamak_coils` at the points (r, phi, z)."""
    from vcjax.problems import magnetic_field, tokamak_coils

    r, phi, z = np.broadcast_arrays(r, phi, z)
    points = np.stack([r * np.cos(phi), r * np.sin(phi), z], axis=-1)
    x, y, up = np.moveaxis(magnetic_field(tokamak_coils(), points), -1, 0)
    return x * np.cos(phi) + y * np.sin(phi), y * np.cos(phi) - x * np.sin(phi), up


NAMES = {
    "tokamak": tokamak,
    "ellipse": ellipse,
    "free_boundary_8": lambda: free_boundary(8, 31),
    "free_boundary_12": lambda: free_boundary(12, 101),
}


def solve(name: str, path: str) -> None:
    """Compute the equilibrium `name`, and save the VMEC output to `path`."""
    import vmecpp  # pyright: ignore[reportMissingImports]

    problem = vmecpp.VmecInput(**NAMES[name]())
    output = vmecpp.run(
        problem, coil_field if problem.lfreeb else None, max_threads=1, verbose=False
    )
    wout = output.wout
    print(f"beta {wout.betatotal:.4f}, B0 {wout.b0:.3f} T, aspect ratio {wout.aspect:.2f}")
    wout.save(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compute an equilibrium of vcjax's tests again.")
    parser.add_argument("name", choices=NAMES, help="equilibrium to compute")
    parser.add_argument("output", help="NetCDF file to write")
    options = parser.parse_args()
    solve(options.name, options.output)
