"""Build and check vcjax and jaxmeter, install both wheels in a clean environment and try them.

    python -m tools.check_packages    # prints the versions if both packages work

pip downloads the dependencies. The trial runs outside the checkout, so that it uses only the
installed wheels.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRIAL = """
import importlib.resources
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import jaxmeter, vcjax, vcjax.problems, vcjax.wout
problem = vcjax.problems.w7x(digits=3)
rule = vcjax.choose(problem.X, problem.B, 3, nfp=5, half_period=True, trg_nphi=20, trg_ntheta=40)
casing = vcjax.prepare(rule, problem.X)
error = problem.external_error(vcjax.external_field(casing, problem.B))
assert error < 1e-3, error
assert vcjax.wout.read_wout(vcjax.wout.tokamak_path()).nfp == 1
table = jnp.linspace(0.0, 1.0, 1000)
audit = jaxmeter.audit(lambda x: x * table, jnp.ones(1000))
assert audit.captured_bytes == 8000, audit.captured_bytes
assert (importlib.resources.files("jaxmeter._tables") / "tables.md").is_file()
assert all(package.__file__.startswith(ENVIRONMENT) for package in (jaxmeter, vcjax))
print(f"vcjax {vcjax.__version__} (error {error:.1e}) and jaxmeter {jaxmeter.__version__} work")
"""


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command; if it fails, end this process with its exit code."""
    # With these variables Python could import a module that is missing in a wheel.
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=kept, check=False)
    if done.returncode:
        text = " ".join(map(str, command))
        print(f"check_packages: this command failed: {text}", file=sys.stderr)
        sys.exit(done.returncode)


def main() -> int:
    """Build, check, install and try both packages; return 0."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for package in (ROOT / "jaxmeter", ROOT):
            run(sys.executable, "-m", "build", "--outdir", folder / "dist", package)
        built = sorted((folder / "dist").iterdir())
        run(sys.executable, "-m", "twine", "check", "--strict", *built)
        run(sys.executable, "-m", "venv", folder / "clean")
        python = folder / "clean" / "bin" / "python"
        wheels = [path for path in built if path.suffix == ".whl"]
        run(python, "-m", "pip", "install", "--quiet", *wheels)
        trial = f"ENVIRONMENT = {str(folder / 'clean')!r}\n{TRIAL}"
        run(python, "-W", "error", "-c", trial, cwd=folder)
        run(folder / "clean" / "bin" / "jaxmeter", "--help", cwd=folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
