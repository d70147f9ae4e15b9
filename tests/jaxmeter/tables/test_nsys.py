"""Tables of nsys captures: kernels with operations and scopes, copies, ranges; unusable files."""

import os
import shutil
import sys

import pytest

from jaxmeter import JaxmeterError
from jaxmeter import tables as jt
from tests.jaxmeter.tables import nsys_rows as rows

MODULE = "XlaModule:#hlo_module=jit_f,program_id=3#"
HLO = (
    "HloModule jit_f\n\nENTRY %main (p: f32[4]) -> f32[4] {\n"
    '  ROOT %fusion.1 = f32[4]{0} sine(%p), metadata={op_name="jit(f)/far/tile/sin"}\n}\n'
)
FULL = {
    "StringIds": rows.STRINGS,
    "NVTX_EVENTS": [
        rows.text_range(0, 1000, MODULE),
        rows.text_range(100, 200, text_id=3),
        rows.text_range(150, 160, "another thread", thread=rows.THREAD + 1),
        rows.text_range(300, 400, "Thunk:#name=jit(f)/near/dot,hlo_op=dot.2#"),
        rows.text_range(2000, 2500, "by hand", kind=60),
        {"start": 5, "end": None, "eventType": 75, "text": "domain"},
    ],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [
        rows.call(120, 11),
        rows.call(320, 12),
        rows.call(450, 13),
        rows.call(120, 12, thread=9 << 24),  # of another process
    ],
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        rows.kernel(5000, 6000, 11),
        rows.kernel(7000, 9000, 12),
        rows.kernel(9000, 9500, 13, grid=(8, 2, 1)),
    ],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [rows.copy(0, 1000, 4000, 1), rows.copy(0, 1000, 2000, 1)],
}


def read(path, hlo=None):
    return jt.nsys_tables(jt.read_nsys(path), hlo)


@pytest.mark.parametrize(
    ("meta", "version"), [("EXPORT_META_DATA", "2022.4.2.1"), ("META_DATA_EXPORT", "2025.3.1")]
)
def test_kernels_are_joined_with_the_operation_that_launched_them(tmp_path, meta, version):
    tables = read(rows.write(tmp_path / "a.sqlite", FULL, meta, version), {"jit_f": HLO})
    found = {row["op"]: row for row in tables["kernels"].to_dict("records")}
    assert set(found) == {"fusion.1", "dot.2", ""}
    first = found["fusion.1"]
    names = {"scope": "far/tile", "program": "jit_f", "kernel": "fused_sine"}
    assert {name: first[name] for name in names} == names
    assert first["total_seconds"] == pytest.approx(1e-6)
    assert (first["grid"], first["block"], first["registers_count"]) == ("4,1,1", "128,1,1", 40)
    assert first["shared_bytes"] == 512
    assert found["dot.2"]["scope"] == "near"  # from the range, because the HLO lacks dot.2
    assert found[""]["program"] == "jit_f"
    (total,) = tables["nsys"].to_dict("records")
    assert total["version"] == version
    assert (total["kernels_count"], total["kernels_with_op_count"]) == (3, 2)
    assert (total["nvtx_ranges_count"], total["thunk_ranges_count"]) == (5, 2)


@pytest.mark.parametrize(
    "hlo",
    [{"jit_g": HLO.replace("jit_f", "jit_g")}, {"jit_f": HLO.replace("fusion.1", "fusion.7")}],
)
def test_the_text_of_another_program_is_refused(tmp_path, hlo):
    with pytest.raises(
        JaxmeterError,
        match="does not match the capture: programs in the capture are jit_f, and . of",
    ):
        read(rows.write(tmp_path / "a.sqlite", FULL), hlo)


def test_a_kernel_of_a_program_without_hlo_gets_no_scope_of_another_program(tmp_path):
    ranges = [
        *FULL["NVTX_EVENTS"],
        rows.text_range(3000, 4000, MODULE.replace("jit_f", "jit_g")),
        rows.text_range(3100, 3200, "Thunk:#name=jit(g)/own/sin,hlo_op=fusion.1#"),
    ]
    launch = {
        "CUPTI_ACTIVITY_KIND_RUNTIME": [rows.call(3120, 11)],
        "CUPTI_ACTIVITY_KIND_KERNEL": [rows.kernel(5000, 6000, 11)],
    }
    path = rows.write(tmp_path / "a.sqlite", {**FULL, **launch, "NVTX_EVENTS": ranges})
    (kernel,) = read(path, {"jit_f": HLO})["kernels"].to_dict("records")
    assert (kernel["program"], kernel["scope"]) == ("jit_g", "own")


def test_identifiers_of_more_than_53_bits_join_kernels_with_operations(tmp_path):
    process = 1 << 56 | rows.PROCESS
    thread = process | 7
    found = {
        **FULL,
        "NVTX_EVENTS": [
            rows.text_range(100, 200, text_id=3, thread=thread),
            FULL["NVTX_EVENTS"][-1],  # without a thread
        ],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [rows.call(120, 11, thread=thread)],
        "CUPTI_ACTIVITY_KIND_KERNEL": [rows.kernel(5000, 6000, 11) | {"globalPid": process}],
    }
    (kernel,) = read(rows.write(tmp_path / "a.sqlite", found))["kernels"].to_dict("records")
    assert kernel["op"] == "fusion.1"


def test_ranges_and_copies_are_summed(tmp_path):
    tables = read(rows.write(tmp_path / "a.sqlite", FULL))
    nvtx = {row["text"]: row for row in tables["nsys_nvtx"].to_dict("records")}
    assert nvtx[MODULE]["total_seconds"] == pytest.approx(1e-6)
    assert nvtx[MODULE]["self_seconds"] == pytest.approx(0.8e-6)
    assert nvtx["by hand"]["range_kind"] == "start" and "domain" not in nvtx
    (copies,) = tables["nsys_memcpy"].to_dict("records")
    assert (copies["copy_kind"], copies["bytes"], copies["count"]) == ("host to device", 6000, 2)
    assert copies["bytes_per_second"] == pytest.approx(3e9)


def test_tables_that_nsys_left_out_are_empty(tmp_path):
    no_ranges = {name: FULL[name] for name in FULL if name != "NVTX_EVENTS"}
    tables = read(rows.write(tmp_path / "a.sqlite", no_ranges))
    assert tables["nsys"]["nvtx_ranges_count"].tolist() == [0]
    assert sum(tables["kernels"]["launches_count"].tolist()) == 3
    assert set(tables["kernels"]["op"]) == {""}
    no_kernels = {name: FULL[name] for name in ("StringIds", "NVTX_EVENTS")}
    tables = read(rows.write(tmp_path / "b.sqlite", no_kernels))
    assert len(tables["kernels"]) == len(tables["nsys_memcpy"]) == 0
    assert tables["nsys"]["nvtx_ranges_count"].tolist() == [5]


def test_truncated_empty_and_missing_files_cause_clear_errors_and_are_not_changed(tmp_path):
    path = rows.write(tmp_path / "a.sqlite", FULL)
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(path.read_bytes()[:9000])
    other = tmp_path / "other.sqlite"
    other.write_bytes(b"")
    for broken, message in (
        (cut, "truncated or not an SQLite"),
        (other, "not a capture of nsys"),
        (tmp_path / "none.sqlite", "No such file.*give a .sqlite file that nsys"),
    ):
        with pytest.raises(JaxmeterError, match=message):
            jt.read_nsys(broken)
    assert cut.stat().st_size == 9000 and not (tmp_path / "none.sqlite").exists()


def test_an_error_without_nsys_says_what_to_install_or_names_the_given_path(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(JaxmeterError, match=r"install Nsight Systems .* nsys export --type sqlite"):
        jt.nsys_program()
    with pytest.raises(JaxmeterError, match="'/no/nsys', which is not a program"):
        jt.nsys_program("/no/nsys")


def test_a_failure_of_nsys_is_an_error_with_its_output_or_with_what_is_missing(tmp_path):
    fake = tmp_path / "nsys"
    fake.write_text("#!/bin/sh\necho 'Importer was not found' >&2\nexit 3\n")
    fake.chmod(0o755)
    with pytest.raises(JaxmeterError, match="exit code 3.*:\nImporter was not found"):
        jt.nsys_profile(str(fake), ["true"], tmp_path / "capture")
    fake.write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(JaxmeterError, match="importer of nsys is missing"):
        jt.nsys_profile(str(fake), ["true"], tmp_path / "capture")
    with pytest.raises(JaxmeterError, match="exported nothing"):
        jt.nsys_export(str(fake), tmp_path / "capture.nsys-rep")


@pytest.mark.skipif(
    not os.environ.get("JAXMETER_NSYS") and shutil.which("nsys") is None,
    reason="needs nsys, on the PATH or named by JAXMETER_NSYS, and the Python package nvtx",
)
def test_a_real_capture_has_the_layout_of_nsys_rows(tmp_path):
    pytest.importorskip("nvtx", reason="needs the Python package nvtx")
    nsys = jt.nsys_program(os.environ.get("JAXMETER_NSYS"))
    code = "import nvtx\nwith nvtx.annotate('Thunk:#name=jit(f)/far/dot,hlo_op=dot.1#'): pass"
    report = jt.nsys_profile(nsys, [sys.executable, "-c", code], tmp_path / "capture")
    capture = jt.read_nsys(jt.nsys_export(nsys, report))
    assert jt.nsys_version(nsys).startswith(capture.version)
    (row,) = jt.nsys_tables(capture)["nsys_nvtx"].to_dict("records")
    assert (row["op"], row["scope"], row["count"]) == ("dot.1", "far", 1)
