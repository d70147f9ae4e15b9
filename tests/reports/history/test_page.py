"""The data of the history's page, and its behaviour in a browser."""

import dataclasses
import json
import math
import re

import pytest

from reports.history import write_history
from reports.history.page import compact, history_page
from tests.reports.conftest import assert_self_contained
from tests.reports.history.stores import COMMITS, STEP


def test_the_page_is_one_file_that_loads_nothing(failed_history, tmp_path):
    known = tuple(dataclasses.replace(c, author_date="2026") for c in failed_history.commits)
    page = write_history(dataclasses.replace(failed_history, commits=known), tmp_path / "out")
    assert_self_contained(page.read_text(encoding="utf-8"))
    assert "Git does not find" not in page.read_text(encoding="utf-8")
    assert [p.name for p in page.parent.iterdir()] == ["index.html"]
    assert write_history(failed_history, tmp_path / "out") == page


def test_numbers_that_are_not_finite_and_texts_that_close_scripts_do_not_break_the_page(
    failed_history,
):
    odd = dataclasses.replace(
        failed_history,
        commits=tuple(
            dataclasses.replace(c, subject="</script><b>") for c in failed_history.commits
        ),
    )
    text = history_page(odd, {})
    assert text.count("</script>") == 2
    assert "\\u003c/script>\\u003cb>" in text
    series = dataclasses.replace(
        failed_history.environments[0].series[0], values=(math.nan, math.inf, 1.0)
    )
    environment = dataclasses.replace(failed_history.environments[0], series=(series,))
    data = compact(dataclasses.replace(failed_history, environments=(environment,)), {})
    assert data["environments"][0]["series"][0][3] == ["nan", "inf", 1]


def test_exact_numbers_reach_the_page_without_rounding(failed_history):
    data = json.loads(json.dumps(compact(failed_history, {})))
    names = [name for name, *_ in data["metrics"]]
    captured = [s for s in data["environments"][0]["series"] if names[s[1]] == "captured_bytes"]
    assert {v for s in captured for v in s[3]} >= {100_000, 165_536}


# This script runs after the page's own script. It moves through a chart by keyboard, searches, and
# puts its findings into the title.
WALK = """<script>
const wanted = (s) => s.name === "captured_bytes" && s.case.includes("closure");
const card = cards.get(all[0].find(wanted));
const press = (key, held = {}) =>
  !card.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true, ...held }));
const read = () => card.querySelector(".tip")?.textContent ?? "";
card.focus();
const focused = read();
press("Home"); const first = read();
press("ArrowRight"); const second = read();
press("PageDown"); const step = read();
const link = card.querySelector(".tip a")?.getAttribute("href");
press("Escape"); const hidden = read();
const taken = ["altKey", "ctrlKey", "metaKey", ""].map((held) => press("Home", { [held]: true }));
const search = (text) => {
  byId("search").value = text;
  byId("search").dispatchEvent(new Event("input", { bubbles: true }));
};
const table = byId("step-rows").closest(".scroll");
const beyond = innerWidth < 1000 ? 0 : table.scrollWidth - table.clientWidth;
const lost = byId("failure-rows").textContent;
search("no such name");
const nothing = byId("no-cards").textContent;
search("captured closure");
const shown = byId("shown").textContent;
const claims = {
  focused: focused.startsWith("no process succeeded13"),
  said: focused.includes("2 processes: WrongAnswer in compile: <b>off</b> by 2"),
  first: first.includes("0100000000"),
  moved: first !== second,
  step: step.includes("100 kB to 166 kB (1.66×), found by comp") && !step.includes("processes"),
  described: step.includes("Python 3.11.2"), lost: lost.includes("WrongAnswer"),
  authored: step.includes("authored 2026-11-08 23:30 -03:30"),
  nothing: nothing.startsWith("No series matches"),
};
document.title = JSON.stringify({
  wrong: Object.keys(claims).filter((name) => !claims[name]), link, hidden, shown, taken, beyond,
  role: card.getAttribute("role"), label: card.getAttribute("aria-label"),
  crosses: card.querySelectorAll("path.failed").length,
  drawn: document.querySelectorAll(".chart svg").length,
  rows: byId("step-rows").rows.length, color: getComputedStyle(document.body).backgroundColor,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  fetched: performance.getEntriesByType("resource").length,
});
</script></body>"""


SUBJECT = "Prepare the singular quadrature once and hand it to each of the evaluations"
WIDTH = {"light": 500, "dark": 1000}
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}


@pytest.mark.parametrize("theme", PAPER)
def test_in_a_browser_the_keyboard_moves_through_a_chart_and_nothing_fails(
    failed_history, open_page, take_picture, tmp_path, theme
):
    environment = failed_history.environments[0].name
    reviews = {(environment, COMMITS[STEP - 1], COMMITS[STEP]): "reviews/step.html"}
    commits = tuple(
        dataclasses.replace(
            commit, author_date=f"2026-11-{i + 1:02d}T23:30:00-03:30", subject=SUBJECT
        )
        for i, commit in enumerate(failed_history.commits)
    )
    longer = dataclasses.replace(failed_history, commits=commits)
    page = write_history(longer, tmp_path / "out", reviews=reviews)
    text = page.read_text(encoding="utf-8")
    if theme == "dark":  # a headless browser has no dark desktop to follow
        text = text.replace("(prefers-color-scheme: dark)", "all")
    page.write_text(text, encoding="utf-8")
    take_picture(page, f"history-{theme}", height=1650)
    page.write_text(text.replace("</body>", WALK), encoding="utf-8")
    opened = open_page(page, f"--window-size={WIDTH[theme]},900")
    assert re.findall(r".*CONSOLE.*", opened.stderr) == []
    title = re.search(r"<title>(\{.*?\})</title>", opened.stdout)
    assert title is not None
    assert json.loads(title.group(1)) == {
        "wrong": [],
        "link": "reviews/step.html",
        "hidden": "",
        "shown": "1 of 50 series",
        "taken": [False, False, False, True],
        "beyond": 0,
        "role": "application",
        "label": "casing_variants/w7x-closure-d3, captured: 166 kB at the newest of 12 commits, "
        "1 change point, no process succeeded at 1 other commit",
        "crosses": 1,
        "drawn": 1,
        "rows": 1,
        "color": PAPER[theme],
        "overflow": 0,
        "fetched": 0,
    }
