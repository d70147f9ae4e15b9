"""Report, history and review are built over 800 hostile files, in bounded memory and time."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jaxmeter import Audit, RecordError
from reports import ReportError, read_store
from reports.store import merge
from reports.store.merge import merge_stores
from tests.reports import made_up
from tests.reports.hostile_files import SPECIAL_COUNT, make_special, write_hostile

COUNT = 800
MEMORY_BYTES = 2**30
BUILD = """
import json, resource, sys
from pathlib import Path
# Limit the processor time, because elapsed time depends on other programs.
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from reports.__main__ import main
code = main(sys.argv[1:])
# The peak of this program only; ru_maxrss may be the peak of the process that started it.
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) * 1024
print(json.dumps({"code": code, "peak_bytes": peak}))
"""
ROOT = Path(__file__).parents[2]
RECORDS = [
    made_up.casing_case("closure", 3),
    made_up.chunk_case(64, 64),
    made_up.reference_case(6),
    made_up.preparation_case(6),
    made_up.failed("a/b", {}),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store of two comparable commits, with hostile files."""
    root = tmp_path_factory.mktemp("hostile") / "store"
    made_up.write_full(root)
    shutil.copytree(root / made_up.COMMIT, root / "fedcba0987654321fedcba0987654321fedcba09")
    assert len(write_hostile(root, RECORDS, COUNT)) == COUNT
    return root


def built(*arguments):
    """Run a command of the reports with limited time and memory; return exit code and stderr."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"died with {done.returncode}: {done.stderr[-2000:]}"
    found = json.loads(done.stdout.splitlines()[-1])
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    assert found["peak_bytes"] < MEMORY_BYTES, f"{found['peak_bytes'] / 2**20:.0f} MiB"
    return found["code"], done.stderr


@pytest.mark.parametrize(
    "command",
    ["build --commit 1234567890abcdef", "history", "review fedcba0987654321 1234567890abcdef"],
)
def test_a_page_is_built_over_hostile_files(command, store, tmp_path):
    code, errors = built(*command.split(), "--store", store, "--out", tmp_path / "out")
    assert code in (0, 1), errors[-2000:]
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "<script>alert(1)</script>" not in text
    assert "</html>" in text


def test_merging_copies_valid_records_and_names_the_other_files(store, tmp_path):
    merged = merge_stores([store], tmp_path / "all")
    assert merged.added_count > 200 and len(merged.refused) > 500
    assert all(len(file.reason) <= 1000 for file in merged.refused)
    again = read_store(tmp_path / "all")
    assert len(again.records) == merged.added_count and not again.skipped


@pytest.mark.parametrize("kind", range(SPECIAL_COUNT))
def test_merging_keeps_any_file_at_the_destination_of_a_record(kind, tmp_path):
    made_up.write(tmp_path / "a", made_up.casing_case("closure", 3))
    first = made_up.write(tmp_path / "a", made_up.casing_case("closure", 6))
    merge_stores([tmp_path / "a"], tmp_path / "all")
    (place,) = (tmp_path / "all").rglob("w7x-closure-d6/0.json")
    place.unlink()
    make_special(place, kind)
    before = os.lstat(place)
    merged = merge_stores([tmp_path / "a"], tmp_path / "all")
    (refused,) = merged.refused
    assert refused.path == first.relative_to(tmp_path / "a") and merged.same_count == 1
    assert os.lstat(place).st_ino == before.st_ino


def test_a_full_destination_is_an_error_and_leaves_no_partial_file(tmp_path, monkeypatch):
    made_up.write(tmp_path / "a", made_up.casing_case("closure", 3))

    def full(source, goal):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(merge.os, "link", full)
    with pytest.raises(ReportError, match="No space left on device.*merge again"):
        merge_stores([tmp_path / "a"], tmp_path / "all")
    assert not [path for path in (tmp_path / "all").rglob("*") if path.is_file()]


def test_an_audit_with_a_field_twice_is_refused():
    with pytest.raises(RecordError, match="twice in one object"):
        Audit.from_json('{"a": 1, "a": 2}')
