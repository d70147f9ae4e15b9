"""Only regular files of limited size are read. A failed write changes nothing.

Temporary folders of killed processes are removed.
"""

import errno
import os
import socket
import tempfile
from pathlib import Path

import pytest

from jaxmeter import FileError
from jaxmeter._records import files
from jaxmeter._records.files import read_file, temporary_folder, write_file


def socket_at(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def sparse_at(path):
    with open(path, "wb") as stream:
        stream.truncate(2**31)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, "which is a FIFO; give a regular file"),
        (os.mkdir, "which is a folder; give a regular file"),
        (socket_at, "No such device"),
        (lambda path: path.symlink_to("/dev/zero"), "which is a device; give a regular file"),
        (lambda path: path.symlink_to(path), "Too many levels"),
        (lambda path: None, "No such file"),
        (sparse_at, "which has 2,048 MiB or more; give a file of at most 16 MiB"),
    ],
)
def test_only_regular_files_of_limited_size_are_read(make, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    path = Path("record.json")
    make(path)
    with pytest.raises((FileError, OSError), match=message) as caught:
        read_file(path)
    assert "record.json" in str(caught.value)


def test_the_limit_holds_for_a_file_that_reports_the_size_0():
    with pytest.raises(FileError, match="at most 0 MiB"):
        read_file("/proc/self/maps", 100)


def test_a_link_to_a_regular_file_is_read(tmp_path):
    (tmp_path / "content").write_bytes(b"text")
    (tmp_path / "link").symlink_to("content")
    assert read_file(tmp_path / "link", 4) == b"text"


def test_a_failed_write_leaves_no_draft_and_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    write_file(path, "old")

    def no_space(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(FileError, match=r"cannot write '.*record\.json' \(No space left on device"):
        write_file(path, "new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_write_file_follows_links_writes_to_devices_and_names_a_missing_folder(tmp_path):
    (tmp_path / "link").symlink_to("content")
    write_file(tmp_path / "link", "text")
    assert (tmp_path / "content").read_text() == "text" and (tmp_path / "link").is_symlink()
    with pytest.raises(FileError, match="cannot write '.*none.*' .*a writable path"):
        write_file(tmp_path / "none" / "file", "text")
    write_file("/dev/null", "text")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_old_folders_that_no_process_holds_are_removed_and_others_are_kept(temporary):
    left = temporary / "jaxmeter-left.held"  # as a killed process leaves it
    kept = {"jaxmeter-of-an-older-version", "jaxmeter-young.held", "other-abc.held"}
    for path in (left, *(temporary / name for name in kept)):
        path.mkdir()
    (temporary / "jaxmeter-file.held").touch()
    (temporary / "jaxmeter-link.held").symlink_to(temporary / "other-abc.held")
    with temporary_folder() as held:
        for folder in (held, left, *map(temporary.joinpath, kept)):
            os.utime(folder, (0, 0))
        os.utime(temporary / "jaxmeter-young.held")  # folders younger than a minute are kept
        with temporary_folder() as mine:
            assert mine.is_dir() and held.is_dir() and not left.exists()
        assert not mine.exists()
    assert {path.name for path in temporary.iterdir()} == {
        *kept,
        "jaxmeter-file.held",
        "jaxmeter-link.held",
    }


def test_an_error_in_making_a_temporary_folder_is_one_line_with_advice(temporary, monkeypatch):
    def read_only(**_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(files.tempfile, "mkdtemp", read_only)
    with pytest.raises(FileError, match="Read-only file system.*set TMPDIR"):
        with temporary_folder():
            raise AssertionError("not reached")
