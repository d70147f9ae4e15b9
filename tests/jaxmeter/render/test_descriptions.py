"""Audits, records, calibrations and numbers as text and as Markdown."""

import dataclasses
import re

import jaxmeter
from jaxmeter import Audit, Record, Use, bytes_text, markdown, seconds_text, table

CUBE = jaxmeter.AuditedArray(
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
    suggestion="give step an argument optical_path",
)
MASK = dataclasses.replace(
    CUBE,
    bytes=12,
    path="mask",
    argument="mask",
    match="view",
    uses=(),
    embedded_count=0,
    verdict="fine",
    suggestion="",
)
AUDIT = Audit("step", 1_000_000, (CUBE, MASK), 10**6 + 12, 2 * 10**6, 2, 0, "0.10.2")
RECORD = Record(
    name="mine",
    status="ok",
    phases=jaxmeter.Phases(0.001, 0.02, 3.0, None),
    samples_seconds=(0.003, 0.001, 0.002),
    constants=jaxmeter.Constants(
        captured_bytes=10**6,
        captured_count=1,
        arrays=(jaxmeter.ConstantArray((250, 500), "float64", 10**6, "jit(inner)"),),
    ),
    counts=jaxmeter.Counts(1, 1, 1, 0),
    checks={"error_relative": 1.5e-7},
)


def audit_of(*arrays):
    return dataclasses.replace(AUDIT, arrays=arrays)


def test_an_audit_shows_each_variable_with_its_lines_and_suggestions():
    assert table(AUDIT).splitlines() == [
        "step: captures 1 MB in 2 arrays, embeds 2 MB in 2 constants "
        "(large; the threshold is 1 MB for a variable)",
        "  verdict  variable           type                   bytes  in the program",
        "  large    optical_path.cube  float64[500, 250]  1,000,000  embedded twice",
        "      /src/model.py:41 used in propagate: return cube @ field | mask",
        "      /src/model.py:40 returned in model: def model(x):",
        "  fine     a view of mask     float64[500, 250]         12  not embedded: unused, or "
        "embedded as fewer elements",
        "suggestions:",
        "  - give step an argument optical_path",
    ]


def test_an_audit_folds_the_arrays_of_a_variable_into_its_total_the_largest_first():
    leaf = dataclasses.replace(CUBE, path="model.bias", argument="model", bytes=8, embedded_count=1)
    others = [dataclasses.replace(leaf, bytes=3 * 10**6), leaf, leaf]
    made = dataclasses.replace(MASK, match="unknown", argument="", path="")
    lines = table(audit_of(CUBE, *others, made, made)).splitlines()
    rows = [line.split() for line in lines if line.startswith(("  large ", "  fine "))]
    assert [row[:4] for row in rows] == [
        ["large", "model", "3", "arrays"],
        ["large", "optical_path.cube", "float64[500,", "250]"],
        ["fine", "made", "while", "tracing,"],
    ]
    assert rows[0][4] == "3,000,016" and rows[2][7:] == ["2", "arrays", "24", "0", "B", "embedded"]
    shown = [" ".join(line.split()) for line in lines]
    assert "model.bias float64[500, 250] 8 embedded once" in shown


def test_an_audit_shows_arrays_that_differ_by_an_index_in_one_row():
    paths = [f"W[{n}]" for n in range(60)] + [f"layers[{n}].w[1]" for n in (0, 2)]
    leaves = [dataclasses.replace(CUBE, path=path, argument=path[:6]) for path in paths]
    wide = dataclasses.replace(CUBE, path="W[60]", argument="W", shape=(9, 9))
    lines = table(audit_of(*leaves, wide), every=True).splitlines()
    shown = [" ".join(line.split()) for line in lines]
    assert "W[0..59] 60 x float64[500, 250] 60,000,000 each embedded twice" in shown
    for path in ("layers[0].w[1]", "layers[2].w[1]", "W[60]"):
        assert any(line.startswith(f"{path} float64[") for line in shown)


def test_numbers_of_a_program_on_several_devices_are_labelled_as_per_device():
    record = Record("step", "ok", memory=jaxmeter.Memory(temp_bytes=8, devices_count=4))
    assert "runs on 4 devices; flops, bytes accessed, arguments" in table(record)
    alone = dataclasses.replace(record, memory=jaxmeter.Memory(temp_bytes=8, devices_count=1))
    assert "per device" not in table(alone)


def test_an_audit_in_markdown_has_a_row_for_each_array_and_keeps_its_columns():
    leaf = dataclasses.replace(CUBE, path="optical_path.mask")
    lines = markdown(audit_of(CUBE, leaf, MASK)).splitlines()
    assert lines[0].startswith("### step: captures 1 MB")
    rows = [line.replace("\\|", "") for line in lines if line.startswith("|")]
    assert [row.count("|") for row in rows] == [7] * 4 + [6] * 5
    assert "`/src/model.py:41` used in propagate: `return cube @ field  mask`" in rows[2]
    assert "`optical_path.cube`" in rows[6] and "`optical_path.mask`" in rows[7]
    assert lines[-1] == "- give step an argument optical_path"


def test_a_long_audit_is_cut_to_40_lines_and_shown_in_full_on_request():
    path = "trunk.encoder.attention.layers[12].projection.weight"
    arrays = [
        dataclasses.replace(
            CUBE, path=f"{name}{n}{path}", argument=f"{name}{n}", suggestion=f"pass {name}{n}"
        )
        for name in ("first", "second")
        for n in range(20)
    ]
    folding = jaxmeter.Folding("sort", "float32[9, 9]", 2.0, CUBE.uses)
    audit = dataclasses.replace(audit_of(*arrays), foldings=(folding,) * 20)
    text = table(audit)
    assert len(text.splitlines()) <= 40
    assert "and 35 more" in text and "40 arrays: --all lists them" in text
    assert "first0trunk...[12].projection.weight" in text and path not in text
    every = table(audit, every=True)
    assert all(array.path in every for array in arrays)
    assert every.count("  - pass ") == 40 and "more" not in every
    assert "  the arrays\n" in every and "--all" not in every + markdown(audit)


def test_an_audit_without_arrays_is_one_line():
    nothing = Audit("step", 1_000_000, (), 0, 0, 0, 0, "0.10.2")
    assert table(nothing) == "step: captures no array"
    assert markdown(nothing) == "### step: captures no array"


def test_an_audit_names_the_lines_in_packages_and_counts_hidden_arguments():
    use = dataclasses.replace(CUBE.uses[0], within="/site/layers.py:97")
    text = table(audit_of(dataclasses.replace(CUBE, uses=(use,))))
    assert "model.py:41 used in propagate (through /site/layers.py:97): return cube" in text
    hidden = dataclasses.replace(CUBE, embedded_count=0, hidden_count=1)
    assert "passed as 1 hidden argument" in table(audit_of(hidden))


def test_a_record_shows_only_its_known_values():
    lines = table(RECORD).splitlines()
    names = re.compile(r"  (\S.*?)  +(.*)")
    shown = {m[1]: m[2] for line in lines if (m := names.fullmatch(line))}
    assert shown["compile"] == "3 s"
    assert shown["steady-state run"] == "2 ms median of 3, 1 ms to 3 ms"
    assert shown["captured"] == "1 MB in 1 array"
    assert shown["error_relative"] == "1.5e-07"
    assert "      float64[250, 500] 1 MB in jit(inner)" in lines
    assert "first call" not in shown and "flops" not in shown


def test_a_record_names_the_largest_captured_arrays_and_counts_the_rest():
    arrays = tuple(jaxmeter.ConstantArray((n,), "int8", n, "") for n in range(100))
    constants = jaxmeter.Constants(captured_bytes=4950, captured_count=100, arrays=arrays)
    text = table(dataclasses.replace(RECORD, constants=constants))
    assert "int8[99] 99 B" in text and "int8[0]" not in text
    assert "and 90 more" in text


def test_a_record_of_a_failure_shows_the_failure_first():
    failure = jaxmeter.Failure("compile", "Timeout", "was in compile after 8 s\nwith | so far")
    record = Record("mine", "timeout", failure=failure)
    lines = table(record).splitlines()
    assert lines[2].split() == ["status", "timeout"]
    assert lines[3].split() == ["failure", "Timeout", "in", "compile"]
    assert [line.strip() for line in lines[4:]] == failure.message.splitlines()
    assert "was in compile after 8 s<br>with \\| so far |" in markdown(record)


def test_a_calibration_is_shown_with_two_digits_and_its_range():
    made = jaxmeter.Calibration(0.01634, "0", "cpu", "cpu", "", "today", (0.0143, 0.01634, 0.107))
    text = "compiling takes 16 ms, 14 ms to 110 ms in 3 rounds, for each megabyte that is embedded"
    assert table(made).startswith(text) and markdown(made).startswith(f"### {text}")


def test_seconds_have_a_fitting_unit():
    texts = {None: "", 0.0: "0 ns", 1e-9: "1 ns", 2.5e-5: "25 us", 0.0123: "12.3 ms"}
    texts |= {75: "75 s", 1234: "1230 s", 0.0009999: "1 ms"}
    assert {seconds: seconds_text(seconds) for seconds in texts} == texts
    assert [seconds_text(s, 2) for s in (0.01634, 0.163, 1.63)] == ["16 ms", "160 ms", "1.6 s"]


def test_bytes_have_a_fitting_unit():
    texts = {None: "", 9999: "9999 B", 10**4: "10 kB", 10**6: "1 MB", 2.5e9: "2.5 GB"}
    assert {size: bytes_text(size) for size in texts} == texts
