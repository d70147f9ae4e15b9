"""Injected regressions: each replaces a part of the package to which it is added."""

import dataclasses
import importlib.util
from types import SimpleNamespace
from typing import Any

import jax
import pytest

import vcjax
from benchmarks.measuring import pair
from benchmarks.workloads.casing import problem_named
from vcjax._pytree import pytree

# The small torus does not resolve B.
pytestmark = pytest.mark.filterwarnings("ignore::vcjax.UnresolvedWarning")


def regression(name):
    spec = importlib.util.spec_from_file_location(name, pair.INJECTED / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(path.stem for path in pair.INJECTED.glob("[a-z]*.py")))
@pytest.mark.parametrize("by_path", [False, True])
def test_a_regression_is_added_to_the_package_and_replaces_one_part(name, by_path, tmp_path):
    package = tmp_path / "vcjax"
    package.mkdir()
    (package / "__init__.py").write_text("good = True\n")
    pair.inject(str(pair.INJECTED / f"{name}.py") if by_path else name, package)
    assert (package / "__init__.py").read_text().startswith("good = True\n")
    assert "_injected.inject(" in (package / "__init__.py").read_text()
    before = vcjax.external_field
    casing: Any = type("Casing", (), {"rule": None})
    stand_in = SimpleNamespace(
        external_field=before, config=vcjax.config, Casing=casing, Rule=vcjax.Rule
    )
    regression(name).inject(stand_in)
    assert (stand_in.external_field is not before) != (casing.rule is not None)
    assert vcjax.external_field is before


def test_the_regression_retrace_retraces_in_every_call():
    @pytree
    @dataclasses.dataclass(frozen=True)
    class Casing:
        rule: vcjax.Rule = dataclasses.field(metadata={"static": True})
        values: jax.Array

    small = problem_named("case_vc")
    rule = vcjax.choose(small.X, small.B, 3, nfp=small.nfp)
    casing = Casing(rule, jax.numpy.ones(3))
    doubled: Any = jax.jit(lambda casing: 2 * casing.values)
    assert [float(doubled(casing)[0]) for _ in range(2)] == [2.0, 2.0]
    assert doubled._cache_size() == 1
    regression("retrace").inject(SimpleNamespace(Casing=Casing, Rule=vcjax.Rule))
    assert [float(doubled(casing)[0]) for _ in range(2)] == [2.0, 2.0]
    assert doubled._cache_size() == 3
    assert (casing.rule.nfp, casing.rule == casing.rule) == (rule.nfp, False)


def test_the_regression_slower_run_waits_for_a_tenth_of_the_elapsed_time(monkeypatch):
    slower_run = regression("slower_run")
    now, waited = [10.0], []
    monkeypatch.setattr(slower_run.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(slower_run.time, "sleep", waited.append)
    start = slower_run.begun(None)
    now[0] = 12.5
    slower_run.waited(start, None)
    assert waited == [pytest.approx(0.25)]
