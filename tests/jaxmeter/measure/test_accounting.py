"""Memory of the compiler's plan, of the process and of the device."""

import numpy as np
import pytest

from jaxmeter._measure import accounting


def test_a_program_without_memory_analysis_has_no_known_sizes():
    class Silent:
        def memory_analysis(self):
            return None

    account = accounting.compiler_account(Silent())  # pyright: ignore
    assert set(account.values()) == {None}


@pytest.mark.skipif(accounting.rss_bytes() is None, reason="the system reports no resident set")
def test_the_peak_of_the_process_includes_freed_memory_until_it_is_reset():
    if not accounting.reset_peak_rss():
        pytest.skip("the system does not let the peak be reset")
    before = accounting.rss_bytes()
    np.ones(25_000_000)  # 200 MB, touched
    assert before is not None
    assert accounting.peak_rss_bytes() - before >= 190e6
    accounting.reset_peak_rss()
    rss = accounting.rss_bytes()
    assert rss is not None and accounting.peak_rss_bytes() - rss < 50e6


def test_without_proc_the_peak_comes_from_getrusage(monkeypatch, tmp_path):
    monkeypatch.setattr(accounting, "_STATUS", tmp_path / "absent")
    monkeypatch.setattr(accounting, "_CLEAR_REFS", tmp_path / "absent" / "too")
    assert accounting.rss_bytes() is None
    assert accounting.reset_peak_rss() is False
    assert accounting.peak_rss_bytes() > 10e6


@pytest.mark.cpu
def test_the_cpu_backend_reports_no_device_peak():
    assert accounting.device_peak_bytes() is None
