"""Differences are found and explained; equal commits raise no alarm."""

import dataclasses
import json
import math
import random
import re

import pytest

from reports.__main__ import main
from reports.quantities import ROUNDING
from reports.review import Policy, make_review, read_pair, review_markdown
from reports.review.output import review_page
from tests.reports import made_up
from tests.reports.conftest import assert_self_contained
from tests.reports.review.pairs import BASE, CLOSURE, HEAD, part, regressions, reviewed, slower


def captures_more(record):
    """Return the record with a further captured array and a longer compile."""
    held = record.constants
    (array,) = held.arrays
    new = dataclasses.replace(array, shape=(8192,), bytes=65536, where="jit(_field)")
    more = part(
        "constants",
        captured_bytes=held.captured_bytes + 65536,
        embedded_bytes=held.embedded_bytes + 65536,
        arrays=(array, new),
    )
    return more(slower(record, compile_=1.3))


def test_equal_commits_pass_without_causes(pair):
    review = reviewed(pair.write())
    assert review.exit_code == 0 and regressions(review) == set() and review.causes == ()
    assert review.verdict == "Passes: no regression or improvement; 2 cases compared."


def test_twenty_aa_tests_raise_no_alarm(pair):
    """Shuffle the rounds of HEAD twenty times, so that no two reviews are alike."""
    commits = read_pair(pair.write())
    rng = random.Random(3)
    for _ in range(20):
        cases = {
            name: dataclasses.replace(case, good=shuffled(case.good, rng))
            for name, case in commits.head.cases.items()
        }
        head = dataclasses.replace(commits.head, cases=cases)
        review = make_review(dataclasses.replace(commits, head=head))
        assert len(review.tested) == 4 + 2  # two times of each case, and of both cases pooled
        assert regressions(review) == set()


def shuffled(good, rng):
    keys = list(good)
    rng.shuffle(keys)
    # The measurements are shuffled without their start times, so that the rounds stay paired.
    return {
        to: {**good[of], "started_utc": good[to]["started_utc"]}
        for to, of in zip(good, keys, strict=True)
    }


def test_a_captured_array_is_named_and_gated_and_explains_the_longer_compile(pair):
    review = reviewed(pair.write(captures_more))
    assert review.exit_code == 1
    (cause,) = review.causes
    assert cause.kind == "constants"
    assert cause.evidence == ("captures float64[8192] (65.5 kB) in jit(_field)",)
    names = {f.metric.name for f in cause.findings}
    assert {"captured_bytes", "embedded_bytes", "trace_lower_compile_seconds"} <= names
    assert {f.metric.name for f in review.failing} == {"captured_bytes", "embedded_bytes"}
    assert all(f.case == CLOSURE for f in cause.findings)


@pytest.mark.parametrize(
    "section, name, kind",
    [("counts", "traces_count", "retraces"), ("memory", "temp_bytes", "program")],
)
def test_exact_growth_fails_with_its_own_cause(pair, section, name, kind):
    review = reviewed(pair.write(part(section, **{name: 30_000_000})))
    assert review.exit_code == 1 and regressions(review) == {(CLOSURE, name)}
    assert [cause.kind for cause in review.causes] == [kind]


def test_ten_percent_longer_calls_are_found_and_fail_only_where_times_are_gated(pair):
    root = pair.write(lambda record: slower(record, steady=1.1))
    review = reviewed(root)
    assert review.exit_code == 0 and regressions(review) == {(CLOSURE, "steady_median_seconds")}
    (cause,) = review.causes
    assert cause.kind == "unexplained" and "program is the same" in cause.evidence[0]
    assert "steady-state median regressed (not gated) in 1 case" in review.verdict
    assert reviewed(root, gate_times=True).exit_code == 1


def test_a_changed_program_explains_longer_calls_and_is_described_with_units(pair):
    def change(record):
        changed = part("program", hlo_instructions_count=13_310, hlo_fingerprint="cd" * 20)
        less = part("memory", temp_bytes=record.memory.temp_bytes - 1_250_000)
        return changed(less(slower(record, steady=1.2)))

    (cause,) = reviewed(pair.write(change)).causes
    assert cause.kind == "program"
    assert cause.evidence == ("+12\u2009000 HLO instructions, −1.25 MB of temporaries",)
    names = {"hlo_instructions_count", "temp_bytes", "steady_median_seconds"}
    assert {f.metric.name for f in cause.findings} == names


def test_differences_between_programs_are_shown_under_the_cause(pair):
    root = pair.write(part("program", fusions_count=99, hlo_fingerprint="cd" * 20))
    text = root / "programs" / f"{CLOSURE}.txt"
    text.parent.mkdir(parents=True)
    text.write_text("before -> now: the programs <differ>\n  split: fusion ~~~\n")
    review = reviewed(root)
    markdown = review_markdown(review)
    assert f"Differences between the programs of {CLOSURE}" in markdown
    assert "\n~~~~\nbefore -> now: the programs <differ>\n  split: fusion ~~~\n~~~~\n" in markdown
    assert "<pre>before -&gt; now: the programs &lt;differ&gt;" in review_page(review)


def test_a_shorter_compile_is_an_improvement(pair):
    review = reviewed(pair.write(lambda record: slower(record, compile_=0.7)), gate_times=True)
    assert review.exit_code == 0
    assert [f.metric.name for f in review.faster] == ["trace_lower_compile_seconds"]


@pytest.mark.parametrize(
    "error, verdict",
    [
        (1e-3, "regression"),
        (math.nan, "regression"),
        (math.inf, "regression"),
        (1.61e-4, "changed"),
        (1e-6, "improvement"),
    ],
)
def test_accuracy_is_gated_and_a_cause_of_its_own(pair, error, verdict):
    def change(record):
        return dataclasses.replace(record, checks={"error_relative": error})

    review = reviewed(pair.write(change))
    (finding,) = (f for cause in review.causes for f in cause.findings)
    assert finding.metric.name == "error_relative" and finding.verdict == verdict
    assert review.exit_code == (verdict == "regression")
    assert [cause.kind for cause in review.causes] == ["accuracy"]


def test_errors_that_change_in_their_last_digits_or_below_rounding_are_not_reported(pair):
    def change(record):
        checks = {name: value * (1 + 1e-9) for name, value in record.checks.items()}
        return dataclasses.replace(record, checks=checks)

    commits = read_pair(pair.write(change))
    assert make_review(commits).causes == ()
    for side, factor in ((commits.base, 0.01), (commits.head, 0.9)):
        for case in side.cases.values():
            for row in case.good.values():
                row["error_relative"] = factor * ROUNDING
    assert make_review(commits).causes == ()


def test_markdown_has_verdict_causes_and_tables(pair):
    text = review_markdown(reviewed(pair.write(captures_more)))
    assert text.startswith(
        f"### Review of {HEAD[:10]} against {BASE[:10]}\n\n**Exact: regression**"
    )
    assert "\nFails: captured, embedded regressed in 1 case; " in text
    assert "- captures float64[8192] (65.5 kB) in jit(\\_field)" in text
    assert "| captured | 1.80 MB | 1.87 MB | 1.04× | regression (gated) |" in text
    assert text.count("<details>") == text.count("</details>") == 1
    assert len(text) < 20_000


def test_the_command_writes_page_markdown_and_json_and_exits_by_the_verdict(pair, tmp_path, capsys):
    root = pair.write(captures_more)
    out = tmp_path / "out"
    arguments = ["review", "--pair", str(root), "--out", str(out)]
    assert main([*arguments, "--markdown"]) == 1
    assert capsys.readouterr().out.strip() == (out / "review.md").read_text("utf-8").strip()
    page = (out / "index.html").read_text("utf-8")
    assert_self_contained(page)
    assert "Fails: " in page and "float64[8192]" in page
    data = json.loads((out / "review.json").read_text("utf-8"))
    assert data["exit_code"] == 1 and data["base"] == BASE
    gated = {(f["metric"], f["cause"]) for f in data["findings"] if f["is_gated"]}
    assert gated == {("captured_bytes", "constants"), ("embedded_bytes", "constants")}
    assert main([*arguments, "--significance", "2"]) == 2
    assert main(["review"]) == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    assert main(["review", "--pair", str(root), "--out", str(tmp_path / "mine")]) == 2


def test_the_command_uses_the_default_criteria_of_every_review(pair, tmp_path, capsys):
    root = pair.write(captures_more)
    arguments = ["review", "--pair", str(root), "--out", str(tmp_path / "out"), "--markdown"]
    main(arguments)
    by_default = capsys.readouterr().out
    assert by_default.strip() == review_markdown(reviewed(root)).strip()
    assert "minimum effect 5%, false alarms in 1% of reviews" in by_default
    main([*arguments, "--significance", "0.0025"])
    assert "minimum effect 5%, false alarms in 0.25% of reviews" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["review", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"of a time is not reported (default: {Policy.criteria.minimum_effect:g})" in shown
    assert f"false alarm (default: {Policy.criteria.significance:g})" in shown


def test_the_page_in_a_browser_has_no_errors_and_fits_a_phone(
    pair, tmp_path, open_page, take_picture
):
    root = pair.write(captures_more)
    main(["review", "--pair", str(root), "--out", str(tmp_path / "out")])
    page = tmp_path / "out" / "index.html"
    take_picture(page, "review")
    script = (
        "<script>document.title = [document.documentElement.scrollWidth - "
        'document.documentElement.clientWidth, performance.getEntriesByType("resource").length, '
        'document.querySelectorAll("svg.panel").length]</script></body>'
    )
    page.write_text(page.read_text("utf-8").replace("</body>", script), encoding="utf-8")
    opened = open_page(page)
    assert re.findall(r".*CONSOLE.*", opened.stderr) == []
    assert "<title>0,0,1</title>" in opened.stdout


def test_cases_whose_programs_changed_differently_share_one_section(pair):
    root = pair.write()
    for fusions, name in ((99, "a"), (103, "b"), (103, "c")):
        for side, commit in (("base", BASE), ("head", HEAD)):
            record = dataclasses.replace(made_up.casing_case("closure", 6), name=f"suite/{name}")
            if side == "head":
                record = part("program", fusions_count=fusions)(record)
            made_up.write(root / side, record, commit=commit)
    review = reviewed(root)
    (cause,) = review.causes
    assert cause.evidence == ("suite/a: +3 fusions", "suite/b and 1 other: +7 fusions")
    assert review.exit_code == 0
    assert "<summary>The compiled program changed." in review_markdown(review)
