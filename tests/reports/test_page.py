"""The written report: page, Markdown, tables, figures, and the command that writes them."""

import dataclasses
import math
import re
import xml.etree.ElementTree as ElementTree

import pandas as pd
import pytest

from reports import ReportError, make_report, write_report
from reports.__main__ import main
from tests.reports import made_up
from tests.reports.conftest import assert_self_contained

TABLES = (
    "measurements samples captured_arrays closure_versus_argument chunk_sizes accuracy "
    "against_reference gradient_against_reference preparation failures environments"
).split()


@pytest.fixture(scope="module")
def written(full_store, tmp_path_factory):
    page = write_report(make_report(full_store), tmp_path_factory.mktemp("out") / "report")
    return page.parent


@pytest.fixture(scope="module")
def html(written):
    return (written / "index.html").read_text(encoding="utf-8")


def test_the_page_loads_nothing_from_elsewhere_and_its_ids_are_unique(html):
    assert_self_contained(html)
    assert len(html) < 2_000_000


def test_the_head_names_commit_machine_versions_and_processes(html):
    head = html[: html.index("<main>")]
    facts = (made_up.COMMIT[:12], "2026-11-20", "Example CPU", "0.10.2", "178 in 33 cases")
    for fact in (*facts, "casing_variants 6", "casing_preparation 1", "listed below"):
        assert fact in head


@pytest.mark.parametrize(
    ("load", "note"), [(2.1, "other programs were running"), (2.0, "one-minute load before")]
)
def test_the_head_has_a_note_if_the_load_exceeds_the_number_of_cpus(load, note, tmp_path):
    case = made_up.casing_case("closure", 3)
    made_up.write(tmp_path, made_up.in_environment(case, load_1min_before=load))  # of two CPUs
    facts = {fact.name: fact for fact in make_report(tmp_path).document.facts}
    assert facts["Load"].note.startswith(note)


def test_the_head_has_both_days_and_the_number_of_other_machines_of_a_measurement(tmp_path):
    for i, (day, machine) in enumerate((("20", "a"), ("23", "b"))):
        case = made_up.casing_case("closure", 3, i)
        started = f"2026-11-{day}T1{1 - i}:00:00+00:00"
        case = made_up.in_environment(case, started_utc=started, machine=machine)
        made_up.write(tmp_path, case, i)
    facts = {fact.name: fact for fact in make_report(tmp_path).document.facts}
    assert facts["Measured"].value == "2026-11-20 to 2026-11-23"
    assert facts["Measured"].note == "11:00 to 10:00 UTC"
    note = "2 cores, 24 GB, and 1 other machine: times of several machines are mixed"
    assert facts["Machine"].note == note


SECTIONS = "closure chunks accuracy reference gradient_reference preparation problems".split()


def test_every_section_is_on_the_page_and_has_a_link(html):
    assert [name for name in SECTIONS if f'href="#{name}"' not in html] == []
    assert [name for name in SECTIONS if f'<section id="{name}">' not in html] == []


def test_numbers_in_a_table_have_their_units(html):
    body = html[html.index('id="table-closure_times"') :]
    row = body[body.index("<tbody>") : body.index("</tr>", body.index("<tbody>"))]
    for unit in ("ms", "s", "×"):
        assert f"<i> {unit}</i>" in row


def test_figures_are_well_formed_described_and_stand_alone(written):
    files = sorted((written / "figures").glob("*.svg"))
    assert len(files) == 4 * 4 + 1 + 2 + 1 + 2 + 2
    for file in files:
        root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
        names = [child.tag.rpartition("}")[2] for child in root]
        assert names[:3] == ["style", "title", "desc"]
        assert root[2].text
        assert "nan" not in file.read_text(encoding="utf-8")


def test_tables_are_written_as_parquet_and_csv_alike(written):
    for name in TABLES:
        stored = pd.read_parquet(written / "tables" / f"{name}.parquet")
        text = pd.read_csv(written / "tables" / f"{name}.csv")
        assert list(stored.columns) == list(text.columns) and len(stored) == len(text) > 0
    measured = pd.read_parquet(written / "tables" / "measurements.parquet")
    assert max(measured["captured_bytes"].dropna()) == 163_000_000
    assert str(measured["started_utc"].dtype).startswith("datetime64")


def test_the_markdown_has_sentences_tables_and_figures_of_the_page(written, html):
    text = (written / "report.md").read_text(encoding="utf-8")
    assert "## Closure against argument" in text and "| Variant |" in text
    assert "163 MB are closed over" in text and "163 MB are closed over" in html
    for link in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (written / link).is_file()


def test_text_from_records_cannot_break_the_page(tmp_path):
    message = "<script>alert(1)</script> | pipe\nnext line"
    case = made_up.casing_case("closure", 3)
    # The bars of a figure have the variant as their class.
    params = case.params | {"variant": '"><script>alert(1)</script>'}
    made_up.write(tmp_path / "cases", dataclasses.replace(case, params=params))
    made_up.write(tmp_path / "cases", made_up.failed("a/b", {}, message=message), 1)
    page = write_report(make_report(tmp_path / "cases"), tmp_path / "report")
    assert "<script>alert" not in page.read_text(encoding="utf-8")
    markdown = (page.parent / "report.md").read_text(encoding="utf-8")
    (row,) = (line for line in markdown.splitlines() if "pipe" in line)
    assert "\\| pipe next line" in row and "<script>" not in row


def odd_stores(root):
    """Write stores that a run may leave behind, each by name, and return their folders."""
    case = made_up.casing_case
    lost = made_up.failed("a/b", {"workload": "w7x"})
    no_digits = dataclasses.replace(case("closure", 6), params={"variant": "closure"})
    skipped = made_up.failed("against_reference/w7x-d6", {"digits": 6}, status="skipped")
    stores = {
        "one process": [case("closure", 6)],
        "no closure": [case("argument", 6)],
        "only a failure": [lost],
        "error is nan": [case("closure", 6, checks={"error_relative": math.nan})],
        "error is infinite": [case("closure", 6, checks={"error_relative": math.inf})],
        "error is zero": [case("closure", 6, checks={"error_relative": 0.0})],
        "no check": [case("closure", 6, checks={})],
        "no sample": [case("closure", 6, repeat=0)],
        "one chunk": [made_up.chunk_case("auto", "auto")],
        "chunk not timed": [made_up.chunk_case(1024, 80, repeat=0)],
        "reference": [made_up.reference_case(6)],
        "no parameters": [made_up.record("other/case", {})],
        "skipped": [skipped],
        "prepared only": [made_up.preparation_case(6)],
        "no environment": [dataclasses.replace(lost, environment=None)],
        "no digits": [no_digits],
        "some without digits": [case("closure", 6), no_digits],
    }
    for name, records in stores.items():
        for i, record in enumerate(records):
            made_up.write(root / name, record, i)
    return sorted(root.iterdir())


def test_every_incomplete_store_gives_a_page(tmp_path):
    for store in odd_stores(tmp_path / "stores"):
        report = make_report(store)
        page = write_report(report, tmp_path / store.name)
        assert page.is_file(), store.name
        shown = re.sub(r"<script>.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.S)
        values = re.sub(r'data-order="[^"]*"|title="[^"]*"', "", shown)
        assert not re.search(r"\bnan\b|\bNone\b|<NA>", values), store.name


def test_the_newest_commit_is_shown_and_another_can_be_chosen(tmp_path):
    older = made_up.casing_case("closure", 3)
    made_up.write(tmp_path, older, commit="a" * 40)
    newer = made_up.in_environment(older, started_utc="2026-11-21T00:00:00+00:00")
    made_up.write(tmp_path, newer, commit="b" * 40)
    assert make_report(tmp_path).commit == "b" * 40
    report = make_report(tmp_path, commit="aaa")
    assert report.commit == "a" * 40
    assert any(fact.name == "Also in the tables" for fact in report.document.facts)
    assert set(report.tables["measurements"]["commit"]) == {"a" * 40, "b" * 40}
    with pytest.raises(ReportError, match="nothing measured for commit ccc"):
        make_report(tmp_path, commit="ccc")


def test_the_command_prints_the_path_of_the_page_and_can_be_repeated(tmp_path, capsys):
    made_up.write(tmp_path / "cases", made_up.casing_case("closure", 3))
    arguments = ["build", "--store", str(tmp_path / "cases"), "--out", str(tmp_path / "report")]
    for _ in range(2):
        assert main(arguments) == 0
        assert capsys.readouterr().out.strip() == str(tmp_path / "report" / "index.html")
    assert {path.name for path in tmp_path.iterdir()} == {"cases", "report"}


@pytest.mark.parametrize("out", [".", "link"])
def test_the_page_can_be_written_to_the_working_folder_and_through_a_link(
    tmp_path, monkeypatch, out
):
    made_up.write(tmp_path / "cases", made_up.casing_case("closure", 3))
    folder = tmp_path / "report"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(folder if out == "." else tmp_path)
    for _ in range(2):
        assert main(["build", "--store", str(tmp_path / "cases"), "--out", out]) == 0
    assert (folder / "index.html").exists() and (tmp_path / "link").is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"cases", "link", "report"}


@pytest.mark.parametrize("kind", ["missing", "empty"])
def test_errors_are_one_line_and_exit_code_two(kind, tmp_path, capsys):
    store = {"missing": tmp_path / "nowhere", "empty": tmp_path}[kind]
    arguments = ["build", "--store", str(store), "--out", str(tmp_path / "report")]
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1 and captured.err.startswith("reports build: ")
    assert not (tmp_path / "report").exists()


def test_without_a_process_that_succeeded_the_page_is_written_and_the_exit_code_is_one(
    tmp_path, capsys
):
    lost = made_up.failed("a/b", {"workload": "w7x"}, status="timeout")
    made_up.write(tmp_path / "cases", dataclasses.replace(lost, environment=None))
    # This record succeeded at another commit, which the page does not show.
    made_up.write(tmp_path / "cases", made_up.casing_case("closure", 3), commit="f" * 40)
    arguments = ["build", "--store", str(tmp_path / "cases"), "--out", str(tmp_path / "report")]
    assert main([*arguments, "--commit", made_up.COMMIT]) == 1
    captured = capsys.readouterr()
    page = tmp_path / "report" / "index.html"
    assert captured.out.strip() == str(page)
    assert captured.err.count("\n") == 1 and "succeeded" in captured.err
    facts = make_report(tmp_path / "cases", commit=made_up.COMMIT).document.facts
    assert next(fact for fact in facts if fact.name == "JAX").value == "unknown"
    assert "None" not in page.read_text(encoding="utf-8")
    assert main([*arguments, "--commit", "fff"]) == 0


def test_unreadable_files_are_listed_on_the_page(tmp_path, capsys):
    good = made_up.write(tmp_path / "cases", made_up.casing_case("closure", 3))
    (good.parent / "1.json").write_text('{"schema": 1, "na')
    made_up.write(
        tmp_path / "cases", made_up.record("casing_variants/w7x-closure-d3", {"digits": "six"}), 2
    )
    arguments = ["build", "--store", str(tmp_path / "cases"), "--out", str(tmp_path / "report")]
    assert main(arguments) == 0
    assert "2 unreadable" in capsys.readouterr().err
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "1.json" in page and "truncated" in page
    assert "got `str` - at `record.params.digits`" in page
    written = [path for path in (tmp_path / "report").rglob("*") if path.is_file()]
    assert not any(str(tmp_path).encode() in path.read_bytes() for path in written)
