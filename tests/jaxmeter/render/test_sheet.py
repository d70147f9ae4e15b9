"""A sheet becomes Markdown, aligned text, HTML or rich's tables; only results are rendered."""

import dataclasses
import io
import re
import sys
from xml.etree import ElementTree

import pytest

import jaxmeter
from jaxmeter import JaxmeterError, Tradeoff, TradeoffPoint, markdown, table
from jaxmeter._records.plain_data import Result
from jaxmeter._render import terminal
from jaxmeter._render.html import sheet_html
from jaxmeter._render.memory import tradeoff_sheet
from jaxmeter._render.sheet import Code, Row, Sheet, Table, sheet_markdown, sheet_rich, sheet_text

ROWS = (
    Row("same", "1", details=[Code("a | b")]),
    Row("different", "1,000", details=[Code("one"), ("two:", Code("`three`"))]),
    Row("", ""),
    Row("", "2", details=["x", "y", Code("z\nz")]),
)
SHEET = Sheet(
    "step: good",
    True,
    (
        Table(("verdict", "bytes:"), ROWS, "largest", "lines", limit=3),
        Table(("empty",), ()),
        Table(("hidden",), (Row("row"),), "only a title", limit=0),
    ),
    ("on cpu",),
    ("pass x as an argument",),
)
TRADEOFF = Tradeoff("step", (TradeoffPoint({"n": 1}, 1.0, 8, True),), "0.10.2")


def test_markdown_keeps_its_columns_and_code_and_has_every_row():
    assert sheet_markdown(SHEET).splitlines() == [
        *("### step: good", "", "Largest:", ""),
        "| verdict | bytes | lines |",
        "| --- | ---: | --- |",
        "| same | 1 | `a \\| b` |",
        "| different | 1,000 | `one`<br>two: ```three``` |",
        "|  |  |  |",
        "|  | 2 | x<br>y<br>`z z` |",
        *("", "Only a title:", "", "| hidden |", "| --- |", "| row |"),
        *("", "On cpu.", "", "Suggestions:", "", "- pass x as an argument"),
    ]


def test_text_is_aligned_cut_short_and_without_colours():
    assert sheet_text(SHEET).splitlines() == [
        "step: good",
        "  largest",
        "    verdict    bytes",
        "    same           1",
        "        a | b",
        "    different  1,000",
        "        one",
        "        two: `three`",
        "",
        "    and 1 more",
        "  only a title",
        "  on cpu",
        "suggestions:",
        "  - pass x as an argument",
    ]
    few = Table(("verdict", "bytes:"), ROWS, details_limit=1)
    assert sheet_text(Sheet("step", tables=(few,))).splitlines()[-2:] == [
        "      x",
        "      and 2 more lines",
    ]


def test_html_folds_rows_that_a_terminal_leaves_out_escapes_text_and_sets_no_colour():
    rows = (Row("<b>&", "1", details=[Code("a < b")]), Row("", "2"))
    sheet = Sheet("x < y", tables=(Table(("name", "n:"), rows, "<t>", limit=1),), notes=("a & b",))
    text = sheet_html(dataclasses.replace(sheet, suggestions=("<s>",), block="<block>"))
    assert "<strong>x &lt; y</strong>" in text and "<p>&lt;t&gt;</p>" in text
    assert re.search(r">&lt;b&gt;&amp;</td>.*<code>a &lt; b</code></td>", text)
    assert re.search("<details><summary>1 more</summary><table>.*>2</td>.*</details>", text)
    assert "<em>a &amp; b</em>" in text and "<li>&lt;s&gt;</li>" in text
    assert "<pre>&lt;block&gt;</pre>" in text
    assert not re.search("color|background|<script|<style", sheet_html(SHEET) + text)
    for page in (text, sheet_html(SHEET)):  # every element is closed in order
        assert len(list(ElementTree.fromstring(page.replace("<br>", "")).iter())) > 15


def test_every_type_of_result_has_a_sheet_for_notebooks():
    kinds = set(terminal._SHEETS)
    assert kinds == set(Result.__subclasses__())
    assert all(getattr(jaxmeter, kind.__name__) is kind for kind in kinds)
    assert TRADEOFF._repr_html_() == sheet_html(tradeoff_sheet(TRADEOFF))


def test_rich_draws_the_rows_of_the_text_with_colours_on_a_terminal():
    console = pytest.importorskip("rich.console").Console
    drawn, plain = io.StringIO(), io.StringIO()
    coloured = console(file=drawn, force_terminal=True, width=60, color_system="standard")
    coloured.print(sheet_rich(SHEET))
    assert "\x1b[31mdifferent" in drawn.getvalue()
    assert "\x1b[1;32mstep: good" in drawn.getvalue()
    console(file=plain, width=60).print(sheet_rich(SHEET))
    text = plain.getvalue()
    for part in ("verdict", "1,000", "a | b", "two: `three`", "on cpu", "  - pass x", "and 1 more"):
        assert part in text
    assert not any(part in text for part in ("\x1b", "empty", "hidden"))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_rich_tables_and_everything_else_plain_text(monkeypatch, capsys):
    terminal.show(TRADEOFF)
    plain = capsys.readouterr().out
    assert plain == table(TRADEOFF) + "\n"
    assert plain.startswith("step: 1 of 1 choices are best\n  best  choice")
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    terminal.show(TRADEOFF)
    assert "\u2500" in shown.getvalue()  # a rule under the columns


@pytest.mark.parametrize("render", [table, markdown, terminal.show])
def test_only_results_are_rendered(render):
    with pytest.raises(JaxmeterError, match=r"got 3; give a result of type jaxmeter\.Audit"):
        render(3)
