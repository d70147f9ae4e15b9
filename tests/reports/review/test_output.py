"""Text under a pull request is shown as it is and cannot act as markup."""

import dataclasses
import math

import pytest

from jaxmeter import Criteria
from reports.document.markdown import escaped, escaped_html
from reports.review import review_markdown
from reports.review.output import MAX_CHARACTERS
from reports.review.sections import sections, times_figure
from tests.reports import made_up
from tests.reports.review.pairs import CLOSURE, HEAD, part, reviewed


@pytest.mark.parametrize(
    "text, shown",
    [
        ("![x](https://example.org/p.png)", "![x\\](https://example.org/p.png)"),
        ("[approve](x) [a]: x [a][b]", "[approve\\](x) [a\\]: x [a\\][b]"),
        ("@org/team, env@machine, #1, a # b", "@\u200borg/team, env@machine, #\u200b1, a # b"),
        ("a\\| b | `c`", "a\\\\\\| b \\| \\`c\\`"),
        (
            "<img src=x> <!-- &lt; &#64;x A&B",
            "&lt;img src=x> &lt;!-- &amp;lt; &amp;#\u200b64;x A&B",
        ),
        (
            "*a* ~b~ $c$ __init__ half_period",
            "\\*a\\* \\~b\\~ \\$c\\$ \\_\\_init\\_\\_ half_period",
        ),
        ("> quoted", "\\> quoted"),
        ("# heading", "\\# heading"),
        ("- item", "\\- item"),
        ("+3 fusions", "+3 fusions"),
        ("a\nb\tc\x1b[31m\u202e", "a b c[31m"),
        ("float64[8192] (65.5 kB)", "float64[8192] (65.5 kB)"),
    ],
)
def test_text_is_shown_as_it_is_and_is_never_markup(text, shown):
    assert escaped(text) == shown


def test_text_within_a_line_of_html_is_shown_as_it_is():
    assert escaped_html("a_b* <i>\n@you & me") == "a_b* &lt;i&gt; @\u200byou &amp; me"


def test_the_message_of_a_failure_cannot_act_as_markup(pair):
    root = pair.write(rounds=1)
    message = "![x](https://example.org) @org/team \\| <img src=x> ~~~"
    failed = made_up.failed(CLOSURE, {}, kind="WrongAnswer", message=message)
    made_up.write(root / "head", failed, 0, commit=HEAD)
    text = review_markdown(reviewed(root))
    (line,) = [one for one in text.splitlines() if "WrongAnswer in " in one]
    assert "x\\](https" in line and "@\u200borg" in line and "<" not in line
    assert line.replace("\\\\", "").replace("\\|", "").count("|") == 3


def test_a_programs_text_cannot_end_its_fence_and_is_cut_to_fit(pair):
    text = "a\n~~~~~~~~~\n@team ![x](https://example.org)\n" + "x" * 90_000
    root = pair.write(part("program", flops=3.2e9), rounds=1)
    path = root / "programs" / f"{CLOSURE}.txt"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    text = review_markdown(reviewed(root))
    assert "\n~~~~~~~~~~\na\n~~~~~~~~~\n" in text and text.count("~" * 10) == 2
    assert len(text) < MAX_CHARACTERS and "more characters are on the page" in text
    assert text.rstrip().endswith("</details>")


def test_a_review_too_long_for_a_comment_leaves_whole_parts_to_the_page(pair):
    review = reviewed(pair.write(part("constants", captured_bytes=5_000_000), rounds=1))
    (cause,) = review.causes
    many = [dataclasses.replace(cause, title=f"Cause {i} {'x' * 900}") for i in range(200)]
    text = review_markdown(dataclasses.replace(review, causes=tuple(many)))
    assert len(text) < 65_536 and "further parts on the page" in text
    assert text.count("<details>") == text.count("</details>")


def test_a_number_that_a_commit_lacks_is_shown_as_a_dash(pair):
    text = review_markdown(reviewed(pair.write(part("memory", temp_bytes=None), rounds=1)))
    assert (
        "| temp | 9.00 MB | – | only at BASE | regression (gated): only at BASE, missing at" in text
    )


def test_the_dashed_lines_of_the_figure_are_the_minimum_effect(pair):
    """A time counts as equal from 1/(1 + e) to 1 + e: the test uses logarithms."""
    review = reviewed(pair.write())
    (panel,) = times_figure(review.tested, Criteria(minimum_effect=0.25)).panels
    svg = panel.render("x")
    dashed = [line for line in svg.split("<line")[1:] if "limit" in line]
    low, high = (float(line.split('x1="')[1].split('"')[0]) for line in dashed)
    one = float(svg.split(">1.00<")[0].rsplit('x="', 1)[1].split('"')[0])
    assert math.isclose((one - low) / (high - one), 0.8, rel_tol=0.02)  # 1 - 1/1.25 over 0.25


def test_the_number_of_cases_agrees_with_its_noun(pair):
    review = reviewed(pair.write(rounds=1))
    findings = [f for f in review.findings if f.case == CLOSURE and not (f.only_at or f.pooled)]
    review = dataclasses.replace(review, findings=tuple(findings))
    (lead,) = [section.lead for section in sections(review) if section.title == "All numbers"]
    assert lead == f"{len(findings)} numbers of 1 case."
