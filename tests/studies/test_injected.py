"""Injected regressions: each replaces something in the package that it is added to."""

import dataclasses
import importlib.util
import warnings
from types import SimpleNamespace
from typing import Any

import jax
import pytest

import jaxmeter
import vcjax
from benchmarks.measuring import pair
from benchmarks.workloads.casing import problem_named
from jaxmeter._lock.file import check
from jaxmeter._pytest.metered import Metered
from studies.detection import study
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
def test_a_regression_is_added_to_the_package_and_replaces_something(name, by_path, tmp_path):
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


def test_the_regression_slower_run_waits_for_a_share_of_the_elapsed_time(monkeypatch):
    slower_run = regression("slower_run")
    now, waited = [10.0], []
    monkeypatch.setattr(slower_run.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(slower_run.time, "sleep", waited.append)
    start = slower_run.begun(None)
    now[0] = 12.5
    slower_run.waited(start, None)
    assert waited == [pytest.approx(0.25)]


@pytest.fixture(scope="module")
def casing_and_field():
    small = problem_named("case_vc_large", digits=3)
    with warnings.catch_warnings():  # so few points do not resolve the field
        warnings.simplefilter("ignore")
        rule = vcjax.choose(small.X, small.B, small.digits, nfp=small.nfp)
    return vcjax.prepare(rule, small.X), small.B


def locked(package, casing, B):
    """Return the quantities of the lock file for the external field of a package."""
    evaluate = jaxmeter.Case(lambda casing, B: package.external_field(casing, B), (casing, B))
    return Metered(evaluate).locked()


def test_the_lock_file_finds_every_regression_that_needs_no_times(casing_and_field, monkeypatch):
    good = locked(vcjax, *casing_and_field)
    assert not check(
        "jax", {"field": good}, {"field": locked(vcjax, *casing_and_field)}, {}
    ).changes
    # A regression that changes the class itself is undone after the test.
    monkeypatch.setattr(vcjax.Casing, "rule", None, raising=False)
    delattr(vcjax.Casing, "rule")
    names = ("external_field", "config", "Casing", "Rule")
    found = {}
    for name in sorted(study.EXACT, key="retrace".__eq__):
        package = SimpleNamespace(**{name: getattr(vcjax, name) for name in names})
        regression(name).inject(package)
        changes = check("jax", {"field": good}, {"field": locked(package, *casing_and_field)}, {})
        found[name] = {one.quantity for one in changes.changes if one.verdict == "regression"}
    assert found["captured_array"] >= {"captured_bytes", "embedded_bytes"}
    assert "temp_bytes" in found["chunk_size"]
    assert {"jaxpr_equations_count"} <= found["float32_slip"] & found["more_temporaries"]
    assert found["retrace"] >= {"traces", "compiles"}
    assert len(found) == len(study.EXACT) == 5
