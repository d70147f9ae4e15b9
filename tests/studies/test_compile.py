"""The committed rows of compile profiles support the claims of docs/compile.md."""

import jax.numpy as jnp
import pytest

from studies.compile import slow_lines, study
from studies.harness import measured, read_rows


@pytest.mark.parametrize("version", ["0.7.2", "0.10.2", "0.12.0"])
def test_the_slow_line_is_first_and_nearly_all_time_is_attributed(version):
    rows = read_rows(measured("compile", f"slow_lines_jax_{version}.csv"))
    assert {row["slow_line"] for row in rows} == set(slow_lines.functions())
    first = {row["slow_line"] for row in rows if row["rank"] == "1"}
    # JAX 0.7 gives the operations in the branches of a switch the line of the switch.
    assert set(slow_lines.functions()) - first == (
        {"switch of 30 branches"} if version == "0.7.2" else set()
    )
    for row in rows:
        assert float(row["attributed_share"]) >= study.LEAST_ATTRIBUTED
        assert float(row["rows_over_clock"]) == pytest.approx(1.0, abs=0.1)
        assert row["unpaired_count"] == "0"


def test_each_slow_line_is_found_in_its_function():
    lines = [slow_lines.slow_line(fn) for fn, _ in slow_lines.functions().values()]
    assert len(set(lines)) == len(lines) == 10


def test_the_shares_of_the_stages_of_each_program_add_up_to_one():
    whole = [r for r in read_rows(measured("compile", "programs.csv")) if not r["line"]]
    assert [row["program"] for row in whole] == list(study.PROGRAMS)
    for row in whole:
        assert sum(float(row[stage]) for stage in study.STAGES) == pytest.approx(1.0, abs=1e-3)
        assert float(row["share"]) >= study.LEAST_ATTRIBUTED


def test_a_line_that_the_profile_does_not_list_is_missed(monkeypatch):
    monkeypatch.setattr(slow_lines, "slow_line", lambda fn: "nowhere.py:1")
    functions = {"sort": (slow_lines.sort_of_a_captured_array, (jnp.ones((3, 48), "float32"),))}
    monkeypatch.setattr(slow_lines, "functions", lambda: functions)
    (row,) = study.slow_line_rows()
    assert row["rank"] > 1 and row["share"] == 0
