"""The fleet study: its records are made from real records, and its rows meet the targets."""

import dataclasses
import sys

import pytest

from jaxmeter import Record
from studies.fleet import study
from studies.harness import measured, read_rows
from tests.reports.made_up import casing_case


def test_generated_records_are_readable_distinct_and_the_same_for_a_seed():
    samples = (0.1234567891, 0.1245678912)
    real = dataclasses.replace(casing_case("argument", 3), samples_seconds=samples)
    made, again = (dict(study.generated([real], 60, seed=3, commits=2)) for _ in range(2))
    records = [Record.from_json(text) for text in made.values()]
    assert len(made) == 60 == len(set(made.values())) and made == again
    machines = {one.environment.machine for one in records if one.environment}
    assert machines == {"host-0-3", "host-1-3"}
    ratio = records[0].samples_seconds[0] / samples[0]
    assert ratio == pytest.approx(1.0, abs=0.2) and ratio != 1.0
    assert records[0].program == real.program


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_peak_of_a_command_leaves_out_the_study():
    large = bytearray(400 * 2**20)
    assert 2**20 < study.reports("--help")["peak_bytes"] < len(large)


def test_a_command_that_fails_ends_the_study():
    with pytest.raises(study.StudyError, match="reports no-command failed"):
        study.reports("no-command")


def test_the_committed_fleet_has_a_million_records_and_meets_the_targets():
    rows = {row["what"]: row for row in read_rows(measured("fleet", "rows.csv"))}
    assert int(rows["fleet"]["records"]) == 1_000_000
    assert float(rows["query"]["seconds"]) < 0.5
    assert int(rows["history"]["series"]) >= 500 and int(rows["history"]["commits"]) == 500
    assert float(rows["history"]["drawn_seconds"]) < 3.0
