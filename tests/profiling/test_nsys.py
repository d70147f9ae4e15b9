"""nsys: a capture becomes tables; without nsys or ranges there is a message."""

import shutil

import pandas as pd
import pytest

from tests.jaxmeter.tables import nsys_rows as rows


def test_a_capture_becomes_tables_with_a_warning_if_it_has_no_ranges(nsys, tmp_path, capsys):
    path = rows.write(
        tmp_path / "run.sqlite",
        {"StringIds": rows.STRINGS, "CUPTI_ACTIVITY_KIND_KERNEL": [rows.kernel(0, 900, 1)]},
    )
    assert nsys.main([str(path), "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "1 kernels, 0 of them" in printed.out and "NO NVTX RANGES" in printed.err
    assert pd.read_parquet(tmp_path / "kernels.parquet")["kernel"].tolist() == ["fused_sine"]


def test_a_capture_without_kernels_and_ranges_has_exit_code_1(nsys, tmp_path, capsys):
    path = rows.write(tmp_path / "run.sqlite", {"StringIds": rows.STRINGS})
    assert nsys.main([str(path), "--out", str(tmp_path)]) == 1
    assert "the capture has no kernel" in capsys.readouterr().err


@pytest.mark.cpu
def test_without_nsys_on_a_cpu_the_message_names_the_package_to_install(
    nsys, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert nsys.main(["profiled:scoped", "--out", str(tmp_path / "out")]) == 2
    assert "install Nsight Systems" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.cpu
def test_without_nsys_kernels_of_a_gpu_come_from_a_jax_trace(nsys, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("jax.default_backend", lambda: "gpu")
    assert nsys.main(["profiled:scoped", "--out", str(tmp_path)]) == 1  # a CPU has no kernels
    assert "kernels from JAX's own trace instead" in capsys.readouterr().err
    assert (tmp_path / "kernels.parquet").is_file()
