"""Edits that a review must find: each fits the source, and the committed rows are complete."""

from dataclasses import replace

import pytest

from benchmarks.operations import calls, derivatives, programs  # noqa: F401  (they fill the table)
from benchmarks.operations.table import OPERATIONS
from studies.__main__ import main
from studies.detection import edits, timed
from studies.detection.edits import EDITS, Edit, edit_row, equal_row
from studies.detection.findings import EQUAL
from studies.harness import ROOT, StudyError, measured, read_rows

ALL = EDITS | timed.EDITS


@pytest.mark.parametrize("edit", ALL.values(), ids=ALL)
def test_every_edit_fits_the_source_and_names_an_operation(edit):
    text = edit.edited(ROOT / "vcjax")
    compile(text, edit.file, "exec")
    assert text != (ROOT / "vcjax" / edit.file).read_text(encoding="utf-8")
    assert {edit.operation, edit.untouched} <= set(OPERATIONS) and edit.operation != edit.untouched


SOURCE = "def near():\n    return 1\n\n\ndef far():\n    a = 2\n    return a\n"
EDIT = Edit("slip", "a slip", "external_field", "_near.py", "    a = 2\n", "    b = 2\n    a = b\n")


@pytest.fixture
def package(tmp_path):
    (tmp_path / EDIT.file).write_text(SOURCE)
    return tmp_path


def test_an_edit_whose_text_is_gone_is_refused(package):
    (package / EDIT.file).write_text("")
    with pytest.raises(StudyError, match="must occur once in .*, but occurs 0 times"):
        EDIT.edited(package)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("vcjax/_near.py:6", "edit"),
        ("vcjax/_near.py:7", "edit"),
        ("vcjax/_near.py:8", "elsewhere"),
        ("vcjax/_near.py:5", "elsewhere"),
        ("vcjax/_far.py:6", "elsewhere"),
    ],
)
def test_the_line_that_a_review_names_is_located_in_the_edited_source(package, line, place):
    assert EDIT.place(package, line) == place


def finding(case, metric, verdict="regression", *, is_gated=True):
    named = {"case": f"operations/{case}", "metric": metric}
    return named | {"verdict": verdict, "is_gated": is_gated}


def test_gated_regressions_of_the_edited_operation_find_the_edit_and_others_are_alarms(package):
    review = {
        "exit_code": 1,
        "cases_count": 2,
        "judgements": {"exact": {"reason": "temp 2× in a (line vcjax/_near.py:7); 1 more"}},
        "not_compared": [],
        "findings": [
            finding("external_field", "temp_bytes"),
            finding("external_field", "fusions_count", "changed", is_gated=False),
            finding(EDIT.untouched, "flops", "improvement"),
        ],
    }
    row = edit_row(EDIT, package, review)
    assert (row["found_by"], row["line_in"]) == ("temp_bytes", "edit")
    assert row["alarms"] == f"operations/{EDIT.untouched} flops improvement"
    assert len(equal_row(review)["alarms"].split("; ")) == 3


def test_the_committed_rows_have_every_edit_and_ten_equal_pairs():
    rows = read_rows(measured("detection", "edits.csv"))
    assert [row["edit"] for row in rows] == [*EDITS, *[EQUAL] * 10]
    assert len({row["commit"] for row in rows}) == 1
    assert {row["alarms"] for row in rows} == {""}
    assert all(row["found_by"] for row in rows if row["edit"] != EQUAL)


def test_changed_edits_are_measured_in_another_folder_of_the_same_commit(tmp_path, monkeypatch):
    folders = []

    def sides(commits, folder, **options):
        folders.append(folder)
        raise StudyError("not measured")

    monkeypatch.setattr(edits, "sides", sides)
    monkeypatch.setattr(edits, "commit_named", lambda name: "c" * 40)
    given = ["edits", "--out", str(tmp_path / "edits.csv")]
    assert main(given) == main(given) == 2
    monkeypatch.setitem(EDITS, "copy_of_weights", replace(EDITS["copy_of_weights"], new="another"))
    assert main(given) == 2
    assert folders[0] == folders[1] != folders[2]
