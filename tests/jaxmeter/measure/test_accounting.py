"""Memory: the bytes of the compiler are exact, and the peak of the process is measured."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxmeter._measure import accounting


def test_argument_and_output_bytes_equal_the_bytes_of_the_arrays():
    compiled = jax.jit(lambda x: (x[:10], x.sum())).lower(jnp.ones(1000)).compile()
    account = accounting.compiler_account(compiled)
    assert account["argument_bytes"] == 8000
    output_bytes = account["output_bytes"]
    assert output_bytes is not None and 88 <= output_bytes <= 88 + 16  # the tuple's two pointers
    assert account["alias_bytes"] == 0


@pytest.mark.cpu
def test_temporaries_grow_by_a_buffer_that_is_added():
    def temp_bytes(fn):
        compiled = jax.jit(fn).lower(jnp.ones((200, 200))).compile()
        return accounting.compiler_account(compiled)["temp_bytes"]

    without, one = temp_bytes(lambda x: x @ x), temp_bytes(lambda x: x @ x @ x)
    assert without is not None and one is not None
    assert one - without >= 200 * 200 * 8


def test_a_backend_without_memory_analysis_gives_none():
    class Silent:
        def memory_analysis(self):
            return None

    account = accounting.compiler_account(Silent())  # pyright: ignore
    assert set(account.values()) == {None}


@pytest.mark.skipif(accounting.rss_bytes() is None, reason="the system reports no resident set")
def test_the_peak_of_the_process_includes_freed_memory():
    reset = accounting.reset_peak_rss()
    before = accounting.rss_bytes()
    held = np.ones(25_000_000)  # 200 MB, touched
    del held
    assert before is not None
    if reset:
        assert accounting.peak_rss_bytes() - before >= 190e6
    assert accounting.peak_rss_bytes() >= before


@pytest.mark.skipif(accounting.rss_bytes() is None, reason="the system reports no resident set")
def test_a_reset_lets_the_peak_start_again():
    np.ones(25_000_000).sum()
    if not accounting.reset_peak_rss():
        pytest.skip("the system does not let the peak be reset")
    rss = accounting.rss_bytes()
    assert rss is not None
    assert accounting.peak_rss_bytes() - rss < 50e6


def test_elsewhere_the_peak_comes_from_the_resource_limits(monkeypatch, tmp_path):
    monkeypatch.setattr(accounting, "_STATUS", tmp_path / "absent")
    monkeypatch.setattr(accounting, "_CLEAR_REFS", tmp_path / "absent" / "too")
    assert accounting.rss_bytes() is None
    assert accounting.reset_peak_rss() is False
    assert accounting.peak_rss_bytes() > 10e6


@pytest.mark.cpu
def test_the_cpu_backend_reports_no_device_peak():
    assert accounting.device_peak_bytes() is None
