"""Files that no profiler or compiler wrote cause clear errors, or are read as far as possible."""

import os
import sqlite3
from contextlib import closing

import pytest

from jaxmeter import JaxmeterError
from jaxmeter._trace import xspace
from tests.jaxmeter.tables import nsys_rows as rows

jt = pytest.importorskip("jaxmeter.tables", reason="needs pandas and pyarrow")


def sparse(path):
    with open(path, "wb") as stream:
        stream.truncate(2**34)


SPECIAL = {
    "a FIFO": os.mkfifo,
    "a folder": os.mkdir,
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a sparse file of 16 GiB": sparse,
}


def dump_of(path):
    after = path.with_name("module_0001.jit_f.after_optimizations.txt")
    path.rename(after)
    return jt.dump_tables(jt.read_dump(path.parent))


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("read", [jt.read_trace, jt.hlo_file, jt.read_nsys, dump_of])
def test_only_regular_files_of_limited_size_are_read(read, kind, tmp_path):
    path = tmp_path / "artefact"
    SPECIAL[kind](path)
    with pytest.raises(JaxmeterError, match=str(tmp_path)):
        read(path)


def written_by(path, statements):
    with closing(sqlite3.connect(path)) as base:
        base.executescript(statements)
    return path


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ("CREATE TABLE NVTX_EVENTS (a)", "'NVTX_EVENTS' has no column 'start'"),
        (
            "CREATE TABLE NVTX_EVENTS (start, eventType); "
            "INSERT INTO NVTX_EVENTS VALUES ('soon', 59)",
            "start. of table .NVTX_EVENTS. has the value 'soon'",
        ),
        (
            "CREATE TABLE NVTX_EVENTS (start, eventType); "
            "INSERT INTO NVTX_EVENTS VALUES (NULL, 59)",
            "start. of table .NVTX_EVENTS. has the value None",
        ),
        (
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, gridX); "
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 1.5)",
            "gridX. of table .CUPTI_ACTIVITY_KIND_KERNEL. has the value 1.5",
        ),
        (
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, bytes); "
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 9223372036854775807), (1, 2, 1)",
            "nsys_memcpy.bytes that are not Int64",
        ),
        ("CREATE TABLE StringIds (number, text)", "no such column"),
        ("CREATE TABLE other (a)", "not a capture of nsys"),
    ],
)
def test_a_wrong_schema_or_value_is_named(statements, message, tmp_path):
    path = written_by(tmp_path / "a.sqlite", statements)
    with pytest.raises(JaxmeterError, match=message):
        jt.nsys_tables(jt.read_nsys(path))


def test_a_table_of_ranges_needs_only_start_end_and_type(tmp_path):
    statement = 'CREATE TABLE NVTX_EVENTS (start, eventType, "end")'
    assert len(jt.read_nsys(written_by(tmp_path / "a.sqlite", statement)).nvtx) == 0


def test_strings_of_wrong_types_do_not_stop_a_capture(tmp_path):
    path = written_by(
        tmp_path / "a.sqlite",
        "CREATE TABLE StringIds (id, value); "
        "INSERT INTO StringIds VALUES (1, x'ff00'), ('a', 2), (2, CAST(x'fffe' AS TEXT));"
        "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, textId); "
        "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, x'ff', 1), (1, 2, 59, CAST(x'ff' AS TEXT), 2);",
    )
    tables = jt.nsys_tables(jt.read_nsys(path))
    assert tables["nsys"]["nvtx_ranges_count"].tolist() == [2]


def test_a_capture_with_too_many_rows_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("jaxmeter._tables.nsys._MOST_ROWS_COUNT", 3)
    ranges = [rows.text_range(number, number + 1, "a") for number in range(4)]
    path = rows.write(tmp_path / "a.sqlite", {"NVTX_EVENTS": ranges})
    with pytest.raises(JaxmeterError, match="more than 3 rows"):
        jt.read_nsys(path)


def field(number, content):
    """Return a field of fewer than 128 bytes in the encoding of protocol buffers."""
    return bytes([number * 8 + 2, len(content)]) + content


def test_a_trace_with_too_many_empty_events_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(xspace, "MOST_EVENTS_COUNT", 50)
    monkeypatch.setattr(xspace, "_COUNTED_BYTES", 50)
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(field(1, field(3, field(4, b"") * 60)))
    with pytest.raises(JaxmeterError, match=r"^[^(]*host.xplane.pb', .* 50 events; trace fewer"):
        jt.read_trace(path)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff" * 100,
        field(1, b"\xff" * 50),
        field(1, field(3, b"\x80" * 20)),
        field(1, field(3, field(4, b"\x08"))),
        field(1, field(2, b"\xff\xfe") + field(3, field(2, b"\xff"))),
        b"\x0a\xff\xff\xff\xff\x0f",
    ],
)
def test_a_file_that_is_not_a_trace_causes_a_clear_error(content, tmp_path):
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(content)
    with pytest.raises(JaxmeterError, match="host.xplane.pb"):
        jt.read_trace(path)


def test_invalid_hlo_in_a_trace_is_left_out():
    assert xspace._hlo_text(b"\xff" * 100) == ""
