"""Solve the committed tokamak equilibrium anew: ``python solve_tokamak.py OUTPUT.nc``.

A D-shaped tokamak of finite pressure (volume-averaged beta 2.9 %), R0 = 6 m, a = 2 m, 5 T, from
the input below. Needs ``pip install vmecpp`` (large, hence no dependency here). The solver
ends the whole process on some bad inputs, so it runs in a process of its own; the result is written
only when it has converged.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

MAJOR_RADIUS = 6.0
MINOR_RADIUS = 2.0
ELONGATION = 1.6
TRIANGULARITY = 0.3
TOROIDAL_FIELD = 5.0
AXIS_PRESSURE = 8.5e5
IOTA = (1.0, -0.7)
"""Rotational transform on the axis, and its slope in the toroidal flux."""
MPOL = 12
SURFACES = 51


def boundary_coefficients(modes: int):
    """Fourier coefficients (r, z) of R = R0 + a cos(theta + delta sin(theta)), Z = kappa a sin."""
    import numpy as np
    from scipy.special import jv

    m = np.arange(modes)
    r = MINOR_RADIUS * (jv(m - 1, -TRIANGULARITY) + jv(-m - 1, -TRIANGULARITY))
    r[0] = MAJOR_RADIUS + MINOR_RADIUS * jv(-1, -TRIANGULARITY)
    z = np.zeros(modes)
    z[1] = ELONGATION * MINOR_RADIUS
    return r, z


def solver_input():
    """The fixed-boundary problem, current fixed by the rotational transform."""
    import numpy as np
    import vmecpp  # pyright: ignore[reportMissingImports]

    r, z = boundary_coefficients(MPOL)
    area = np.pi * ELONGATION * MINOR_RADIUS**2
    return vmecpp.VmecInput(
        nfp=1,
        mpol=MPOL,
        ntor=0,
        ns_array=np.array([11, SURFACES]),
        ftol_array=np.array([1e-10, 1e-14]),
        niter_array=np.array([2000, 10000]),
        phiedge=TOROIDAL_FIELD * area,
        ncurr=0,
        ai=np.array(IOTA),
        am=AXIS_PRESSURE * np.array([1.0, -2.0, 1.0]),
        raxis_c=np.array([MAJOR_RADIUS + 0.1]),
        zaxis_s=np.zeros(1),
        rbc=r[:, None],
        zbs=z[:, None],
    )


def solve(path: str) -> None:
    """Solve and save, in this process."""
    import vmecpp  # pyright: ignore[reportMissingImports]

    output = vmecpp.run(solver_input(), max_threads=1, verbose=False)
    wout = output.wout
    print(f"beta {wout.betatotal:.4f}, B0 {wout.b0:.3f} T, aspect ratio {wout.aspect:.2f}")
    wout.save(path)


def main(arguments: list[str]) -> int:
    """Solve in a process of its own, and put the file in place when all went well."""
    parser = argparse.ArgumentParser(description="Solve the committed tokamak equilibrium anew.")
    parser.add_argument("output", type=Path, help="NetCDF file to write")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.in_this_process:
        solve(str(options.output))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "wout.nc"
        command = [sys.executable, __file__, "--in-this-process", str(made)]
        status = subprocess.run(command, timeout=600, check=False).returncode
        if status != 0 or not made.exists():
            print(f"solve_tokamak: the solver ended with status {status}", file=sys.stderr)
            return 1
        options.output.write_bytes(made.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
