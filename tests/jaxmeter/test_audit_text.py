"""An audit reads well in the terminal and in Markdown."""

import dataclasses

import jaxmeter
from jaxmeter import Audit, AuditedArray, Use

CUBE = AuditedArray(
    shape=(500, 250),
    dtype="float64",
    bytes=10**6,
    where="scan",
    path="optical_path.cube",
    match="same",
    argument="optical_path",
    uses=(
        Use("/src/model.py", 41, "propagate", "return cube @ field | mask"),
        Use("/src/model.py", 40, "model", "def model(x):", "returned"),
    ),
    embedded_count=2,
    hidden_count=0,
    verdict="large",
    advice="give step an argument optical_path",
)
MASK = dataclasses.replace(
    CUBE, bytes=12, path="mask", match="view", uses=(), embedded_count=0, verdict="fine", advice=""
)
AUDIT = Audit("step", 1_000_000, (CUBE, MASK), 10**6 + 12, 2 * 10**6, 2, 0, "0.10.2")


def test_the_table_shows_each_array_its_lines_and_what_to_change():
    assert jaxmeter.table(AUDIT).splitlines() == [
        "step: captures 1 MB in 2 arrays, embeds 2 MB in 2 constants "
        "(large, the threshold being 1 MB a variable)",
        "  large  optical_path.cube  float64[500, 250]  1 MB, embedded twice",
        "         /src/model.py:41 used in propagate: return cube @ field | mask",
        "         /src/model.py:40 returned in model: def model(x)",
        "  fine   a view of mask     float64[500, 250]  12 B, not embedded: unused, or all its "
        "elements are equal",
        "to change:",
        "  - give step an argument optical_path",
    ]


def test_long_audits_are_cut_short():
    many = dataclasses.replace(CUBE, uses=CUBE.uses * 4)
    text = jaxmeter.table(dataclasses.replace(AUDIT, arrays=(many,) * 25))
    assert "and 5 more lines" in text
    assert "and 5 more, smaller ones" in text
    assert text.count("give step an argument") == 1


def test_markdown_holds_a_row_for_each_array_and_keeps_its_columns():
    lines = jaxmeter.markdown(AUDIT).splitlines()
    assert lines[0].startswith("### step: captures 1 MB")
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4
    assert {row.replace("\\|", "").count("|") for row in rows} == {7}
    assert "`/src/model.py:41` `return cube @ field \\| mask`" in rows[2]
    assert lines[-1] == "- give step an argument optical_path"


def test_nothing_captured_is_one_line():
    nothing = Audit("step", 1_000_000, (), 0, 0, 0, 0, "0.10.2")
    assert jaxmeter.table(nothing) == "step: captures no array"
    assert jaxmeter.markdown(nothing).strip() == "### step: captures no array"


def test_a_line_that_uses_an_array_by_way_of_a_package_names_that_line_too():
    use = dataclasses.replace(CUBE.uses[0], within="/site/layers.py:97")
    text = jaxmeter.table(dataclasses.replace(AUDIT, arrays=(replaced(uses=(use,)),)))
    assert "model.py:41 used in propagate (by way of /site/layers.py:97): return cube" in text


def replaced(**fields):
    return dataclasses.replace(CUBE, **fields)


def test_a_hidden_argument_is_told_as_one():
    hidden = dataclasses.replace(CUBE, embedded_count=0, hidden_count=1)
    text = jaxmeter.table(dataclasses.replace(AUDIT, arrays=(hidden,)))
    assert "passed as 1 hidden argument" in text
