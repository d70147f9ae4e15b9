"""The history: series that are never joined across settings, and the page."""

import dataclasses
import json
import math
import random
import re

import pytest

from reports import ReportError
from reports.__main__ import main
from reports.history import make_history, write_history, write_reviews
from reports.history.page import compact, history_page
from reports.load_cached import read_measurements

COMMITS = [f"{i:02d}{0:038d}" for i in range(1, 13)]
STEP = 7  # the first commit of the new levels


@pytest.fixture(scope="module")
def store(made_up, tmp_path_factory):
    """Twelve commits; at the eighth one cell captures 64 KB more and takes longer to settle."""
    root = tmp_path_factory.mktemp("history") / "cells"
    for k, commit in enumerate(COMMITS):
        rng = random.Random(k)
        for i in range(3):
            for variant in ("closure", "argument"):
                stepped = variant == "closure" and k >= STEP
                cell = made_up.casing_cell(variant, 3, i)
                settled = (0.13 if stepped else 0.1) * math.exp(rng.gauss(0, 0.01))
                cell = dataclasses.replace(
                    cell,
                    samples_seconds=(settled,) * 3,
                    phases=dataclasses.replace(cell.phases, compile_seconds=2 + rng.random() / 50),
                    constants=dataclasses.replace(
                        cell.constants, captured_bytes=165_536 if stepped else 100_000
                    ),
                    environment=made_up.environment(started_utc=f"2026-11-{k + 1:02d}T10:0{i}:00Z"),
                )
                made_up.write(root, cell, i, commit=commit)
    return root


@pytest.fixture(scope="module")
def history(store):
    return make_history(read_measurements(store))


def found(history, cell, metric):
    (series,) = (
        s for s in history.settings[0].series if cell in s.cell and s.metric.name == metric
    )
    return series


def test_steps_are_found_in_the_cell_and_metrics_that_have_them(history):
    stepped = {
        (one.cell.rsplit("-", 2)[1], one.metric.name, one.steps[0].index)
        for one in history.settings[0].series
        if any(step.found_by != "ruptures" for step in one.steps)
    }
    assert ("closure", "captured_bytes", STEP) in stepped
    assert ("closure", "settled_median_seconds", STEP) in stepped
    assert {cell for cell, *_ in stepped} == {"closure"}


def test_a_point_is_the_median_of_its_processes_and_keeps_them(history):
    series = found(history, "closure", "build_seconds")
    assert len(series.values) == 12 and all(len(sample) == 3 for sample in series.samples)
    assert series.values[0] == sorted(series.samples[0])[1]
    assert found(history, "closure", "temp_bytes").samples == ()


def test_two_jax_versions_are_two_settings_and_share_no_series(made_up, store, tmp_path):
    other = dataclasses.replace(
        made_up.casing_cell("closure", 3, captured_bytes=1),
        environment=made_up.environment(jax="0.7.2", jaxlib="0.7.2"),
    )
    made_up.write(tmp_path, made_up.casing_cell("closure", 3), 0, commit=COMMITS[0])
    made_up.write(tmp_path, other, 1, commit=COMMITS[1])
    settings = make_history(read_measurements(tmp_path)).settings
    assert len(settings) == 2
    for setting in settings:
        assert all(len(series.values) == 1 and not series.steps for series in setting.series)


def test_a_store_of_failures_alone_is_an_error(made_up, tmp_path):
    made_up.write(tmp_path, made_up.failed("a/b", {}))
    with pytest.raises(ReportError, match="no process of the store ended well"):
        make_history(read_measurements(tmp_path))


def test_the_page_is_one_file_that_loads_nothing(history, tmp_path):
    page = write_history(history, tmp_path / "out")
    text = page.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"(src|href)\s*=\s*[\"'](https?:)?//", text)
    assert "@import" not in text and "url(" not in text
    assert [p.name for p in page.parent.iterdir()] == ["index.html"]
    assert write_history(history, tmp_path / "out") == page


def test_a_folder_of_something_else_is_not_written_into(history, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ReportError, match="no earlier history"):
        write_history(history, tmp_path)


def test_numbers_that_are_not_finite_and_texts_that_close_scripts_do_not_break_the_page(history):
    odd = dataclasses.replace(
        history,
        commits=tuple(dataclasses.replace(c, subject="</script><b>") for c in history.commits),
    )
    text = history_page(odd, {})
    assert text.count("</script>") == 2
    assert "\\u003c/script>\\u003cb>" in text
    series = dataclasses.replace(history.settings[0].series[0], values=(math.nan, math.inf, 1.0))
    setting = dataclasses.replace(history.settings[0], series=(series,))
    told = compact(dataclasses.replace(history, settings=(setting,)), {})
    assert told["settings"][0]["series"][0][3] == ["nan", "inf", 1]


def test_exact_numbers_reach_the_page_without_rounding(history):
    told = json.loads(json.dumps(compact(history, {})))
    names = [name for name, *_ in told["metrics"]]
    captured = [s for s in told["settings"][0]["series"] if names[s[1]] == "captured_bytes"]
    assert {v for s in captured for v in s[3]} >= {100_000, 165_536}


def test_the_command_writes_the_page_and_tells_what_it_set_aside(made_up, tmp_path, capsys):
    broken = made_up.write(tmp_path / "cells", made_up.casing_cell("closure", 3), 0)
    made_up.write(tmp_path / "cells", made_up.casing_cell("closure", 3, 1), 1)
    broken.write_text("{")
    arguments = ["history", "--store", str(tmp_path / "cells"), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--repository", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert "set aside:" in told.err and "truncated" in told.err
    assert told.out.strip().endswith("index.html")
    assert "0.json" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert main(["history", "--store", str(tmp_path / "nowhere")]) == 2


def test_a_step_links_to_the_review_of_its_commit_against_the_one_before(store, history, tmp_path):
    (address, *more) = write_reviews(history, store, tmp_path).values()
    assert not more
    assert address == f"reviews/0-{COMMITS[STEP - 1][:10]}-{COMMITS[STEP][:10]}/index.html"
    page = (tmp_path / address).read_text(encoding="utf-8")
    assert "Fails." in page and "casing_variants/w7x-closure-d3" in page and "captured" in page
    reviews = {(history.settings[0].name, COMMITS[STEP - 1], COMMITS[STEP]): address}
    told = compact(history, reviews)["settings"][0]["reviews"]
    assert told == {f"{COMMITS[STEP - 1]} {COMMITS[STEP]}": address}
    write_history(history, tmp_path, reviews=reviews)


# Runs in the page after its own script: walks through a chart by keyboard, searches, and tells.
WALK = """<script>
const wanted = (s) => s.name === "captured_bytes" && s.cell.includes("closure");
const card = cards.get(all[0].find(wanted));
const press = (key) => card.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const read = () => card.querySelector(".tip")?.textContent ?? "";
card.focus();
const focused = read();
press("Home"); const first = read();
press("ArrowRight"); const second = read();
press("PageDown"); const step = read();
const link = card.querySelector(".tip a")?.getAttribute("href");
press("Escape"); const hidden = read();
byId("search").value = "captured closure";
byId("search").dispatchEvent(new Event("input", { bubbles: true }));
const shown = byId("shown").textContent;
document.title = JSON.stringify({
  focused: focused.startsWith("166 kB"), first: first.includes("0100000000"),
  moved: first !== second,
  step: step.includes("step from 100 kB to 166 kB") && step.includes("processes") === false,
  told: step.includes("Python 3.11.2"), link, hidden, shown,
  drawn: document.querySelectorAll(".chart svg").length,
  rows: byId("step-rows").rows.length, color: getComputedStyle(document.body).backgroundColor,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  fetched: performance.getEntriesByType("resource").length,
});
</script></body>"""


PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}


@pytest.mark.parametrize("theme", PAPER)
def test_in_a_browser_the_keyboard_reaches_every_point_and_nothing_fails(
    history, open_page, take_picture, tmp_path, theme
):
    setting = history.settings[0].name
    reviews = {(setting, COMMITS[STEP - 1], COMMITS[STEP]): "reviews/step.html"}
    page = write_history(history, tmp_path / "out", reviews=reviews)
    text = page.read_text(encoding="utf-8")
    if theme == "dark":  # a headless browser has no dark desktop to follow
        text = text.replace("(prefers-color-scheme: dark)", "all")
    page.write_text(text, encoding="utf-8")
    take_picture(page, f"history-{theme}")
    page.write_text(text.replace("</body>", WALK), encoding="utf-8")
    opened = open_page(page)
    assert re.findall(r".*CONSOLE.*", opened.stderr) == []
    title = re.search(r"<title>(\{.*?\})</title>", opened.stdout)
    assert title is not None
    assert json.loads(title.group(1)) == {
        "focused": True,
        "first": True,
        "moved": True,
        "step": True,
        "told": True,
        "link": "reviews/step.html",
        "hidden": "",
        "shown": "1 of 50 series",
        "drawn": 1,
        "rows": 1,
        "color": PAPER[theme],
        "overflow": 0,
        "fetched": 0,
    }
