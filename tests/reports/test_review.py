"""The review: what differs is found and put where it belongs, what does not stays quiet."""

import dataclasses
import json
import math
import random
import re

import pytest

from reports.__main__ import main
from reports.review import Judging, make_review, review_markdown, sides_of_pair
from reports.review.certain import ROUNDING
from reports.review.pages import review_page
from tests.reports.review_pairs import (
    BASE,
    CLOSURE,
    HEAD,
    Pair,
    part,
    reviewed,
    slower,
    worse,
)


def captures_more(made_up):
    def change(record):
        arrays = (*record.constants.arrays, new_array(made_up))
        return dataclasses.replace(
            slower(record, compile_=1.3),
            constants=dataclasses.replace(
                record.constants,
                captured_bytes=record.constants.captured_bytes + 65536,
                embedded_bytes=record.constants.embedded_bytes + 65536,
                arrays=arrays,
            ),
        )

    return change


def new_array(made_up):
    (array,) = made_up.casing_case("closure", 3).constants.arrays
    return dataclasses.replace(array, shape=(8192,), bytes=65536, where="jit(_field)")


@pytest.fixture
def pair(made_up, tmp_path):
    return Pair(made_up, tmp_path / "pair")


def test_equal_commits_pass_and_the_review_says_nothing_changed(pair):
    review = reviewed(pair.write())
    assert review.exit_code == 0 and worse(review) == set() and review.causes == ()
    assert review.verdict == "Nothing became worse or better in 2 cases."


def test_of_twenty_reviews_of_equal_commits_none_raises_an_alarm(made_up, tmp_path):
    """Rounds of one commit against later rounds of the same, shuffled: no two reviews alike."""
    alarms = 0
    root = Pair(made_up, tmp_path).write()
    sides = sides_of_pair(root)
    rng = random.Random(3)
    for _ in range(20):
        cases = {
            name: dataclasses.replace(case, good=shuffled(case.good, rng))
            for name, case in sides.head.cases.items()
        }
        head = dataclasses.replace(sides.head, cases=cases)
        review = make_review(dataclasses.replace(sides, head=head))
        assert len(review.tested) == 4 + 2  # each case, and both together
        alarms += len(worse(review))
    assert alarms == 0


def shuffled(good, rng):
    keys = list(good)
    rng.shuffle(keys)
    # What was measured changes places, the time of day does not: the rounds stay side by side.
    return {
        to: {**good[of], "started_utc": good[to]["started_utc"]}
        for to, of in zip(good, keys, strict=True)
    }


def test_a_captured_array_is_named_gated_and_explains_the_longer_build(made_up, pair):
    review = reviewed(pair.write(captures_more(made_up)))
    assert review.exit_code == 1
    (cause,) = review.causes
    assert cause.kind == "constants"
    assert cause.evidence == ("captures float64[8192] (65.5 kB) in jit(_field)",)
    names = {f.metric.name for f in cause.findings}
    assert {"captured_bytes", "embedded_bytes", "build_seconds"} <= names
    assert {f.metric.name for f in review.failing} == {"captured_bytes", "embedded_bytes"}
    assert all(f.case == CLOSURE for f in cause.findings)


@pytest.mark.parametrize(
    "section, name, kind",
    [
        ("counts", "traces_count", "retraces"),
        ("memory", "temp_bytes", "program"),
    ],
)
def test_exact_growth_fails_by_its_own_cause(pair, section, name, kind):
    review = reviewed(pair.write(part(section, **{name: 30_000_000})))
    assert review.exit_code == 1 and worse(review) == {(CLOSURE, name)}
    assert [cause.kind for cause in review.causes] == [kind]


def test_a_tenth_slower_is_found_informs_and_fails_only_where_asked(pair):
    root = pair.write(lambda record: slower(record, steady=1.1))
    review = reviewed(root)
    assert review.exit_code == 0 and worse(review) == {(CLOSURE, "steady_median_seconds")}
    (cause,) = review.causes
    assert cause.kind == "unexplained" and "program is the same" in cause.evidence[0]
    assert "1 time longer (informs only)" in review.verdict
    assert reviewed(root, gate_times=True).exit_code == 1


def test_another_program_explains_a_slower_run_with_what_differs(pair):
    def change(record):
        return part("program", fusions_count=99, hlo_fingerprint="cd" * 32)(
            slower(record, steady=1.2)
        )

    (cause,) = reviewed(pair.write(change)).causes
    assert cause.kind == "program" and cause.evidence == ("+3 fusions",)
    assert {f.metric.name for f in cause.findings} == {"fusions_count", "steady_median_seconds"}


def test_in_what_programs_differ_is_shown_under_the_cause_that_they_changed(pair):
    root = pair.write(part("program", fusions_count=99, hlo_fingerprint="cd" * 32))
    text = root / "programs" / f"{CLOSURE}.txt"
    text.parent.mkdir(parents=True)
    text.write_text("before -> now: the programs <differ>\n  split: fusion ~~~\n")
    review = reviewed(root)
    told = review_markdown(review)
    assert f"In what the programs of {CLOSURE} differ" in told
    assert "\n~~~~\nbefore -> now: the programs <differ>\n  split: fusion ~~~\n~~~~\n" in told
    assert "<pre>before -&gt; now: the programs &lt;differ&gt;" in review_page(review)


def test_a_shorter_compile_is_better_and_fails_nothing(pair):
    review = reviewed(pair.write(lambda record: slower(record, compile_=0.7)), gate_times=True)
    assert review.exit_code == 0 and [f.metric.name for f in review.faster] == ["build_seconds"]


@pytest.mark.parametrize(
    "error, verdict",
    [
        (1e-3, "worse"),
        (math.nan, "worse"),
        (math.inf, "worse"),
        (1.61e-4, "changed"),
        (1e-6, "better"),
    ],
)
def test_accuracy_is_a_finding_of_its_own_and_gated(pair, error, verdict):
    def change(record):
        return dataclasses.replace(record, checks={"error_relative": error})

    review = reviewed(pair.write(change))
    (finding,) = (f for f in review.findings if f.verdict in ("worse", "changed", "better"))
    assert finding.metric.name == "error_relative" and finding.verdict == verdict
    assert review.exit_code == (verdict == "worse")
    assert [cause.kind for cause in review.causes] == ["accuracy"]


def test_an_error_that_moves_in_its_last_digits_is_not_told(pair):
    def change(record):
        checks = {name: value * (1 + 1e-9) for name, value in record.checks.items()}
        return dataclasses.replace(record, checks=checks)

    review = reviewed(pair.write(change))
    assert (review.exit_code, review.causes) == (0, ())


def test_errors_of_rounding_may_move_freely(made_up, pair):
    pair.made_up = made_up
    root = pair.write()
    sides = sides_of_pair(root)
    for side, factor in ((sides.base, 0.01), (sides.head, 0.9)):
        for case in side.cases.values():
            for row in case.good.values():
                row["error_relative"] = factor * ROUNDING
    assert make_review(sides).exit_code == 0


def test_growth_of_a_few_bytes_is_told_and_stops_nobody(pair):
    review = reviewed(pair.write(part("memory", temp_bytes=9_000_008)))
    (finding,) = (f for f in review.findings if f.verdict == "changed")
    assert finding.head - finding.base == 8 and review.exit_code == 0


def test_markdown_has_verdict_causes_and_tables_and_cannot_be_broken_by_text(made_up, pair):
    text = review_markdown(reviewed(pair.write(captures_more(made_up))))
    assert text.startswith(f"### Review of {HEAD[:10]} against {BASE[:10]}\n\n**Fails.**")
    assert "- captures float64[8192] (65.5 kB) in jit(\\_field)" in text
    assert "| captured | 1.80 MB | 1.87 MB | 1.04× | worse (gated) |" in text
    assert text.count("<details>") == text.count("</details>") == 1
    assert len(text) < 20_000


def test_the_command_writes_page_and_markdown_and_exits_by_the_verdict(
    made_up, pair, tmp_path, capsys
):
    root = pair.write(captures_more(made_up))
    out = tmp_path / "out"
    arguments = ["review", "--pair", str(root), "--out", str(out)]
    assert main([*arguments, "--markdown"]) == 1
    assert capsys.readouterr().out.strip() == (out / "review.md").read_text("utf-8").strip()
    page = (out / "index.html").read_text("utf-8")
    assert "default-src 'none'" in page and "Fails." in page and "float64[8192]" in page
    assert not re.search(r"(src|href)\s*=\s*[\"'](https?:)?//", page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    data = json.loads((out / "review.json").read_text("utf-8"))
    assert data["exit_code"] == 1 and data["base"] == BASE
    told = {(f["metric"], f["cause"]) for f in data["findings"] if f["is_gated"]}
    assert told == {("captured_bytes", "constants"), ("embedded_bytes", "constants")}
    assert main([*arguments, "--significance", "2"]) == 2
    assert main(["review"]) == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    assert main(["review", "--pair", str(root), "--out", str(tmp_path / "mine")]) == 2


def test_the_command_judges_by_the_rule_of_all_reviews_unless_told_another(
    made_up, pair, tmp_path, capsys
):
    root = pair.write(captures_more(made_up))
    arguments = ["review", "--pair", str(root), "--out", str(tmp_path / "out"), "--markdown"]
    main(arguments)
    by_hand = capsys.readouterr().out
    assert by_hand.strip() == review_markdown(reviewed(root)).strip()
    assert "least effect 5%, false alarms in 1% of reviews" in by_hand
    main([*arguments, "--significance", "0.0025"])
    assert "least effect 5%, false alarms in 0.25% of reviews" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["review", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert f"share; default {Judging.criteria.minimum_effect:g}" in told
    assert f"SIGNIFICANCE default {Judging.criteria.significance:g}" in told


def test_the_page_in_a_browser_fails_nowhere_and_fits_a_telephone(
    made_up, pair, tmp_path, open_page, take_picture
):
    root = pair.write(captures_more(made_up))
    main(["review", "--pair", str(root), "--out", str(tmp_path / "out")])
    page = tmp_path / "out" / "index.html"
    take_picture(page, "review")
    told = (
        "<script>document.title = [document.documentElement.scrollWidth - "
        'document.documentElement.clientWidth, performance.getEntriesByType("resource").length, '
        'document.querySelectorAll("svg.panel").length]</script></body>'
    )
    page.write_text(page.read_text("utf-8").replace("</body>", told), encoding="utf-8")
    opened = open_page(page)
    assert re.findall(r".*CONSOLE.*", opened.stderr) == []
    assert "<title>0,0,1</title>" in opened.stdout


def test_cells_whose_program_changed_each_in_its_way_share_one_section(made_up, pair):
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
    assert review.exit_code == 0 and "<summary>The compiled program changed." in review_markdown(
        review
    )
