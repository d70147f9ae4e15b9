"""The page in a real browser, where available: no script fails, nothing is fetched."""

import re

import pytest

from reports import make_report, write_report

# This script runs after the page's own script. It presses a heading, and puts its findings into
# the title.
PRESS = """<script>
const table = document.getElementById("table-closure_times");
const heading = [...table.tHead.rows[0].cells].find((c) => c.textContent.trim() === "Compile");
heading.querySelector("button").click();
const values = () => [...table.tBodies[0].rows].map(
  (row) => Number(row.cells[heading.cellIndex].dataset.order));
const rising = values();
heading.querySelector("button").click();
document.title = JSON.stringify({
  rising: rising.every((v, i) => i === 0 || rising[i - 1] <= v),
  falling: values().every((v, i, all) => i === 0 || all[i - 1] >= v),
  sort: heading.getAttribute("aria-sort"),
  rows: rising.length,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  fetched: performance.getEntriesByType("resource").map((entry) => entry.name),
});
</script></body>"""


@pytest.fixture(scope="module")
def opened(full_store, open_page, tmp_path_factory):
    folder = tmp_path_factory.mktemp("opened")
    page = write_report(make_report(full_store), folder / "report")
    pressed = page.with_name("pressed.html")
    text = page.read_text(encoding="utf-8").replace("</body>", PRESS)
    pressed.write_text(text, encoding="utf-8")
    return open_page(pressed)


def test_the_browser_shows_every_table_and_figure(opened):
    names = {"closure_times", "closure_bytes", "chunk_sizes", "accuracy", "against_reference"}
    names |= {"closure_arrays", "gradient_against_reference", "preparation", "failures"}
    assert set(re.findall(r'id="table-(\w+)"', opened.stdout)) == names
    assert opened.stdout.count('class="panel" role="img"') == 24


def test_no_script_fails_and_no_security_rule_is_broken(opened):
    assert re.findall(r".*CONSOLE.*", opened.stderr) == []


def test_a_heading_sorts_its_table_the_page_fits_a_phone_and_nothing_is_fetched(opened):
    title = re.search(r"<title>(\{.*?\})</title>", opened.stdout)
    assert title is not None
    assert title.group(1) == (
        '{"rising":true,"falling":true,"sort":"descending","rows":12,"overflow":0,"fetched":[]}'
    )
