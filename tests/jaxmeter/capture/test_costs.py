"""An audit shows the calibrated cost of embedding, and warns of slow constant folding."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
from jaxmeter import Audit
from jaxmeter._capture import calibration

DRAW = np.random.default_rng(0).normal
SMALL = jnp.asarray(DRAW(size=(8, 8)), "float32")
TABLE = jnp.asarray(DRAW(size=(128, 128)), "float32")
LARGE = jnp.asarray(DRAW(size=(600, 600)), "float32")
EQUAL = jnp.ones((128, 128), "float32")
INDICES = jnp.asarray(np.random.default_rng(1).integers(0, 600, size=600))
X = jnp.ones((), "float32")

# Functions, each with the folded operations that an audit reports as slow.
FOLDED = {
    "sort": (lambda x: jnp.sort(TABLE, 0) * x, ["sort"]),
    "argsort": (lambda x: jnp.argsort(TABLE, 0) * x.astype(int), ["sort"]),
    "top k": (lambda x: jax.lax.top_k(TABLE, 3)[0] * x, ["top_k"]),
    "sort of a computed array": (lambda x: jnp.sort(TABLE * 2.0 + 1.0, 0) * x, ["sort"]),
    "cumsum": (lambda x: jnp.cumsum(LARGE, 0) * x, ["cumsum"]),
    "cumsum twice": (lambda x: jnp.cumsum(jnp.cumsum(LARGE, 0), 1) * x, ["cumsum"] * 2),
    "max": (lambda x: LARGE.max(1) * x, ["reduce_max"]),
    "scatter": (lambda x: LARGE.at[INDICES].add(1.0) * x, ["scatter-add"]),
    "product of rows": (lambda x: jnp.einsum("ij,kj", LARGE, LARGE) * x, ["dot_general"]),
    "within a loop": (
        lambda x: jax.lax.fori_loop(0, 3, lambda _, c: c + jnp.sort(TABLE, 0).sum(), x),
        ["sort"],
    ),
    "within a branch": (
        lambda x: jax.lax.cond(x > 0, lambda y: jnp.sort(TABLE, 0).sum() + y, lambda y: y, x),
        ["sort"],
    ),
    "within a nested jit": (lambda x: jax.jit(lambda y: jnp.sort(TABLE, 0) * y)(x), ["sort"]),
    "as the argument of a nested jit": (
        lambda x: jax.jit(lambda t, y: jnp.sort(t, 0) * y)(TABLE, x),
        ["sort"],
    ),
    "sort of a small array": (lambda x: jnp.sort(SMALL, 0) * x, []),
    "sort of equal elements": (lambda x: jnp.sort(EQUAL, 0) * x, []),
    "sort of a product with an argument": (lambda x: jnp.sort(TABLE * x, 0), []),
    "element by element": (lambda x: jnp.exp(LARGE) * x, []),
    "a plain product": (lambda x: (LARGE @ LARGE) * x, []),
    "a loop over an array": (
        lambda x: jax.lax.fori_loop(0, 3, lambda _, c: jnp.sort(c, 0), TABLE) * x,
        [],
    ),
    "sort of an argument": (lambda x: jnp.sort(jnp.broadcast_to(x, (128, 128)), 0), []),
}


@pytest.mark.parametrize("name", FOLDED)
def test_slow_constant_folding_is_reported_with_its_operations_and_lines(name):
    fn, operations = FOLDED[name]
    audited = jaxmeter.audit(fn, X)
    assert [folding.operation for folding in audited.foldings] == operations
    small = audited.embedded_bytes <= audited.threshold_bytes
    assert audited.verdict == ("slow" if operations and small else "large" if not small else "fine")
    for folding in audited.foldings:
        (use,) = folding.uses
        assert use.file == __file__ and use.line > 0
    assert Audit.from_json(audited.to_json()) == audited


def test_the_estimated_folding_time_has_the_right_order_of_magnitude():
    # Measured with JAX 0.10.2 on one core: 4.8 s for 128 x 128, 12 s for the sum of 512 x 512.
    (sort,) = jaxmeter.audit(FOLDED["sort"][0], X).foldings
    assert 1 <= sort.seconds <= 20
    half = LARGE[:512, :512]
    (cumsum,) = jaxmeter.audit(lambda x: jnp.cumsum(half, 0) * x, X).foldings
    assert 3 <= cumsum.seconds <= 50


def test_the_warning_names_the_line_and_the_remedy():
    audited = jaxmeter.audit(FOLDED["sort"][0], X)
    text = jaxmeter.table(audited)
    assert "  slow     sort              float32[128, 128]            5 s\n" in text
    assert "test_costs.py" in text.split(" 5 s\n")[1]
    assert audited.suggestions[0].startswith(
        "compute sort of float32[128, 128] once, before the call"
    )
    assert "| slow | sort | `float32[128, 128]` | 5 s |" in jaxmeter.markdown(audited)


def clock(steps):
    """Return a clock that advances by one of the steps between the two readings of each pair."""
    readings = itertools.accumulate(span for step in steps for span in (0.0, step))
    return lambda: next(readings)


@pytest.fixture
def tiny(monkeypatch):
    """Make calibrations short: 3 rounds with 2 MB."""
    monkeypatch.setattr(calibration, "_MEGABYTES", 2)
    monkeypatch.setattr(calibration, "_ROUNDS", 3)


def calibrated():
    # The first compile does not count. Then the program with the array and the program without
    # it alternate. The median of their differences is 1.28 s. A negative difference counts as 0.
    return jaxmeter.calibrate(clock=clock([9.0, 0.1, 0.2, 1.38, 0.1, 9.9, 0.1]))


def test_a_calibration_is_the_median_difference_for_each_megabyte(tiny):
    made = calibrated()
    assert made.seconds_per_megabyte == pytest.approx(0.64)
    assert made.samples_seconds_per_megabyte == pytest.approx((0.0, 0.64, 4.9))
    assert made.seconds(5e6) == pytest.approx(3.2)
    assert (made.jax, made.backend) == (jax.__version__, jax.default_backend())


def test_a_calibration_is_kept_for_this_machine_and_jax(tiny):
    assert calibration.calibration() is None
    made = calibrated()
    assert calibration.calibration() == made
    file = calibration._file()
    for name in ("jax", "backend", "device_kind", "cpu_model"):
        file.write_text(dataclasses.replace(made, **{name: "other"}).to_json())
        assert calibration.calibration() is None
    file.write_text("{")
    assert calibration.calibration() is None


@pytest.mark.parametrize(
    "first, second",
    [
        ({"cpu_model": "fast"}, {"cpu_model": "slow"}),
        ({"cpu_model": None, "machine": "a"}, {"cpu_model": None, "machine": "b"}),
    ],
)
def test_machines_that_share_a_home_directory_have_separate_calibrations(
    tiny, monkeypatch, first, second
):
    host = calibration.host_environment()

    def on(machine):
        changed = dataclasses.replace(host, **machine)
        monkeypatch.setattr(calibration, "host_environment", lambda: changed)

    on(first)
    made = calibrated()
    on(second)
    assert calibration.calibration() is None
    calibrated()
    on(first)
    assert calibration.calibration() == made


def test_an_audit_shows_the_cost_if_there_is_a_calibration(tiny):
    captures = lambda x: LARGE * x  # noqa: E731
    assert jaxmeter.audit(captures, X).embedding_seconds is None
    calibrated()
    audited = jaxmeter.audit(captures, X)
    assert audited.embedding_seconds == pytest.approx(600 * 600 * 4 / 1e6 * 0.64)
    assert "about 920 ms of every compile" in audited.suggestions[0]
    assert "in 1 constant, about 920 ms of every compile (large" in jaxmeter.table(audited)
    assert Audit.from_json(audited.to_json()) == audited
    assert "of every compile" not in jaxmeter.table(jaxmeter.audit(lambda x: x, X))
