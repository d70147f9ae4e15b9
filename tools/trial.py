"""Try the installed packages vcjax and jaxmeter; `make packages` installs their wheels first."""

import importlib.resources
import sys

import jax
import jax.numpy as jnp

import jaxmeter
import vcjax.problems
import vcjax.wout

jax.config.update("jax_enable_x64", True)
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
assert all(str(package.__file__).startswith(sys.prefix) for package in (jaxmeter, vcjax))
print(f"vcjax {vcjax.__version__} (error {error:.1e}) and jaxmeter {jaxmeter.__version__} work")
