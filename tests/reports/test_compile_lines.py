"""Made-up compile profiles: the lines behind a longer compile reach the review and the history."""

import dataclasses
import json
import math

import pytest

from jaxmeter import CompiledKernel, CompiledLine, CompileSummary
from reports import ReportError, read_store
from reports.compile_lines import CompileLines, line_changes, slowest_lines
from reports.history import make_history
from reports.history.page import compact
from reports.review import make_review, read_pair, review_markdown
from reports.review.output import review_json, review_page
from tests.reports import made_up
from tests.reports.review.pairs import CLOSURE, Pair, slower


def line(number, seconds, *, text="", kernels=2, equations=10, **others):
    return CompiledLine(
        **{
            "source": f"vcjax/near.py:{number}",
            "function": "weights",
            "text": text or f"line of {number}",
            "trace_seconds": 0.1 * seconds,
            "lower_seconds": 0.1 * seconds,
            "compile_seconds": 0.8 * seconds,
            "folding_seconds": 0.0,
            "equations_count": equations,
            "kernels_count": kernels,
            "instructions_count": 30,
            **others,
        }
    )


def kernel(name, number, seconds):
    return CompiledKernel(
        name, 0.25 * seconds, 0.75 * seconds, 12, {"add": 12}, "", "add", f"vcjax/near.py:{number}"
    )


def profile(*lines, kernels=(), seconds=4.0):
    return CompileSummary(seconds, lines, kernels)


BEFORE = profile(line(12, 2.0), line(30, 1.0))
# Three lines were added above. The first line has more equations and kernels. Only the time of the
# second line differs, by noise.
AFTER = profile(
    line(33, 1.3, text="line of 30"),
    line(15, 6.0, text="line of 12", kernels=14, equations=25),
    kernels=(kernel("fusion.9", 15, 1.0), kernel("fusion.2", 15, 0.5)),
    seconds=8.0,
)


def test_a_line_with_more_kernels_is_named_with_its_slowest_kernel_even_if_it_moved():
    (change,) = line_changes(CompileLines(BEFORE, 2.0), CompileLines(AFTER, 4.0))
    assert str(change) == (
        "+2.00 s at vcjax/near.py:15 (1.00 s to 3.00 s); 10 to 25 equations; 2 to 14 kernels; "
        "slowest kernel fusion.9, 500 ms"
    )


def test_a_slower_line_with_the_same_counts_is_named_with_its_seconds():
    slow = profile(line(12, 4.0), line(30, 1.0), seconds=6.0)
    (change,) = line_changes(CompileLines(BEFORE, 4.0), CompileLines(slow, 6.0))
    assert (change.source, change.counts, change.kernel) == ("vcjax/near.py:12", (), "")
    assert change.change_seconds == pytest.approx(2.0)


def test_a_line_of_only_one_commit_counts_as_zero_seconds_at_the_other():
    gone = line_changes(CompileLines(BEFORE, 4.0), CompileLines(profile(line(30, 1.0)), 2.0))
    assert [str(one) for one in gone][0].startswith("−2.00 s at vcjax/near.py:12 (2.00 s to 0 s); ")


def test_equal_profiles_name_no_line():
    assert line_changes(CompileLines(BEFORE, 4.0), CompileLines(BEFORE, 4.1)) == ()


def test_a_review_of_a_longer_compile_names_line_kernel_and_seconds(tmp_path):
    def change(record):
        return dataclasses.replace(slower(record, compile_=1.5), compile_summary=AFTER)

    root = Pair(tmp_path / "pair").write(change)
    for path in (root / "base").rglob("w7x-closure-d3/0.json"):
        data = json.loads(path.read_text()) | {"compile_summary": dataclasses.asdict(BEFORE)}
        path.write_text(json.dumps(data))
    review = make_review(read_pair(root))
    data = json.loads(review_json(review))
    assert "trace_lower_compile_seconds" in {one["metric"] for one in data["findings"]}
    (found,) = data["compile_lines"]
    assert (found["case"], found["source"]) == (CLOSURE, "vcjax/near.py:15")
    assert found["head_seconds"] / found["base_seconds"] == pytest.approx(1.5**2, rel=0.05)
    for text in (review_page(review), review_markdown(review)):
        assert "Where compile times changed" in text and "near.py:15" in text
        assert "2 to 14 kernels" in text and "fusion.9" in text


def test_the_history_names_lines_at_a_change_point_and_the_slowest_elsewhere(tmp_path):
    for index in range(12):
        for number in range(3):
            is_after = index >= 6
            case = made_up.casing_case("closure", 3, number)
            case = slower(case, compile_=2.0 if is_after else 1.0)
            summary = AFTER if is_after else BEFORE
            started = f"2026-11-{index + 1:02d}T10:0{number}:00Z"
            case = dataclasses.replace(case, compile_summary=None if number else summary)
            case = made_up.in_environment(case, started_utc=started)
            made_up.write(tmp_path / "cases", case, number, commit=f"{index:02d}{'0' * 38}")
    history = make_history(read_store(tmp_path / "cases"))
    series = {one.metric.name: one for one in history.environments[0].series}
    for name in ("trace_lower_compile_seconds", "compile_seconds"):
        lines = series[name].lines
        assert lines[6].startswith("+") and "near.py:15" in lines[6] and "fusion.9" in lines[6]
        assert lines[5].startswith("slowest lines: vcjax/near.py:12 ") and len(lines) == 12
    assert not series["steady_median_seconds"].lines
    sent = [one[-1] for one in compact(history, {})["environments"][0]["series"]]
    assert series["compile_seconds"].lines in sent and 0 in sent


def test_the_slowest_lines_are_scaled_to_the_median():
    said = slowest_lines(CompileLines(BEFORE, 2.0))
    assert said == "vcjax/near.py:12 1.00 s, vcjax/near.py:30 500 ms"


@pytest.mark.parametrize("seconds", [math.nan, -1.0, math.inf])
def test_a_profile_with_impossible_seconds_is_skipped(tmp_path, seconds):
    case = made_up.casing_case("closure", 3)
    made_up.write(tmp_path, dataclasses.replace(case, compile_summary=profile(seconds=seconds)))
    with pytest.raises(ReportError, match="profile_seconds"):
        read_store(tmp_path)
