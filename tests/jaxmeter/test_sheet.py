"""A sheet becomes Markdown, aligned text, or rich's tables."""

import io
import sys

import pytest

from jaxmeter import Calibration, JaxmeterError, Tradeoff, TradeoffPoint, markdown
from jaxmeter._render import terminal
from jaxmeter._render.sheet import Code, Lines, Sheet, Table, sheet_markdown, sheet_rich, sheet_text

ROWS = (
    ("same", "1", Code("a | b")),
    ("different", "1,000", Lines((Code("one"), ("two:", Code("`three`"))))),
    ("", "", Lines(())),
)
SHEET = Sheet(
    "step: good",
    "good",
    (Table(("verdict", "bytes:", "line"), ROWS, "largest"), Table(("empty",), ())),
    ("on cpu",),
    ("pass x as an argument",),
)


def test_markdown_keeps_its_columns_and_code():
    assert sheet_markdown(SHEET).splitlines() == [
        *("### step: good", "", "Largest:", ""),
        "| verdict | bytes | line |",
        "| --- | ---: | --- |",
        "| same | 1 | `a \\| b` |",
        "| different | 1,000 | `one`<br>two: ```three``` |",
        "|  |  |  |",
        *("", "On cpu.", "", "To change:", "", "- pass x as an argument"),
    ]


def test_text_is_aligned_and_without_colours():
    assert sheet_text(SHEET).splitlines() == [
        "step: good",
        "  largest",
        "    verdict    bytes  line",
        "    same           1  a | b",
        "    different  1,000  one",
        "                      two: `three`",
        "",
        "  on cpu",
        "to change:",
        "  - pass x as an argument",
    ]


def test_rich_draws_the_same_with_colours():
    console = pytest.importorskip("rich.console").Console
    drawn = io.StringIO()
    console(file=drawn, force_terminal=True, width=60, color_system="standard").print(
        sheet_rich(SHEET)
    )
    text = drawn.getvalue()
    assert "\x1b[31mdifferent" in text and "\x1b[1;32mstep: good" in text
    plain = io.StringIO()
    console(file=plain, width=60).print(sheet_rich(SHEET))
    assert "\x1b" not in plain.getvalue()
    for part in ("verdict", "1,000", "a | b", "two: `three`", "on cpu", "  - pass x"):
        assert part in plain.getvalue()
    assert "empty" not in plain.getvalue()


class Terminal(io.StringIO):
    def isatty(self):
        return True


TRADE = Tradeoff("step", (TradeoffPoint({"n": 1}, 1.0, 8, True),), "0.10.2")


def test_a_terminal_gets_rich_and_all_else_plain_text(monkeypatch, capsys):
    pytest.importorskip("rich")
    terminal.show(TRADE)
    assert capsys.readouterr().out.startswith("step: 1 of 1 choices are best\n  * n=1")
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    terminal.show(TRADE)
    assert "\u2500" in shown.getvalue()  # a rule under the columns


def test_without_rich_a_terminal_gets_plain_text(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    terminal.show(TRADE)
    assert shown.getvalue().startswith("step: 1 of 1")


def test_only_results_are_rendered():
    with pytest.raises(JaxmeterError, match=r"markdown: got 3; give one of jaxmeter\.Audit"):
        markdown(3)
    assert "for each megabyte" in markdown(Calibration(0.01, "0", "cpu", "cpu", "", "today"))


def test_a_calibration_is_told_to_two_digits_with_its_spread():
    made = Calibration(0.01634, "0", "cpu", "cpu", "", "today", (0.0143, 0.01634, 0.107))
    assert markdown(made).startswith(
        "compiling takes 16 ms, 14 ms to 110 ms in 3 rounds, for each megabyte that is embedded"
    )
