"""Files that no measurement writes, made from real records by mutation; the same in every run.

`write_hostile` puts the files into a store: next to good records, as further rounds of a good case,
and as cases, environments and commits of their own.
"""

import gzip
import itertools
import json
import os
import random
from pathlib import Path

from tests.reports.made_up import COMMIT, KEY

VALUES = (
    *(None, True, False, 0, -1, 1, -0.0, 5e-324, 1e308, -1e308, 1e17, 2**53, 2**63, 10**30),
    *("", "NaN", "Infinity", "-Infinity", "1e999", "x" * 100_000, "\ud800", "\x00", "\u202e"),
    *("<script>alert(1)</script>", "../../../etc/passwd", "{{ 7 * 7 }}", "`rm`", "a\nb", "|" * 50),
    *([], {}, [[]], {"": None}, [0] * 1000, {"a": {"b": {"c": 1}}}, [None], ["NaN"] * 3),
)
RAW = ("NaN", "-Infinity", "1" * 5000, "1e99999", "[" * 2000, '{"a":' * 2000, "1.", "0x1", "'a'")


def leaves(data, path=()):
    """Yield the path of every field and element of a record's data, sections included."""
    if path:
        yield path
    if isinstance(data, dict | list):
        for name in data if isinstance(data, dict) else range(len(data)):
            yield from leaves(data[name], (*path, name))


def with_value(data, path, value):
    """Return the data with another value at a path."""
    if not path:
        return value
    changed = data.copy()
    changed[path[0]] = with_value(data[path[0]], path[1:], value)
    return changed


def changed_fields(data, rng):
    """Yield texts in which one field has another value or name, or occurs twice.

    Instead of a field, an element of a list may have another value.
    """
    places = list(leaves(data))
    mark = "HOSTILE-MARK"
    while True:
        path = rng.choice(places)
        text = json.dumps(with_value(data, path, mark))
        kind = rng.randrange(6 if isinstance(path[-1], str) else 4)
        if kind < 3:
            yield json.dumps(with_value(data, path, rng.choice(VALUES))).encode()
        elif kind == 3:
            yield text.replace(f'"{mark}"', rng.choice(RAW)).encode()
        elif kind == 4:
            name = json.dumps(path[-1])
            yield text.replace(f'{name}: "{mark}"', f"{name}: 1, {name}: null").encode()
        else:
            yield text.replace(f'{json.dumps(path[-1])}: "{mark}"', '"a field": 1').encode()


def changed_bytes(data, rng):
    """Yield texts cut short, with bytes replaced, removed or inserted, or in another encoding."""
    text = json.dumps(data).encode()
    encodings = ("utf-16", "utf-32", "utf-8-sig", "cp037")
    while True:
        kind = rng.randrange(5)
        at = rng.randrange(len(text))
        if kind == 0:
            yield text[:at]
        elif kind == 1:
            yield text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
        elif kind == 2:
            yield text[:at] + text[rng.randrange(at, len(text)) :]
        elif kind == 3:
            yield text[:at] + bytes(rng.randrange(256) for _ in range(20)) + text[at:]
        else:
            yield text.decode().encode(rng.choice(encodings))


def whole_files():
    """Yield contents that are not made from a record."""
    yield b""
    yield b"\x00" * 4096
    yield b"[" * 3_000_000
    yield b'{"a":' * 1_000_000
    yield b'"' + b"s" * 15_000_000 + b'"'
    yield b"[" + b"0," * 5_000_000 + b"0]"
    yield b"9" * 10_000_000
    yield gzip.compress(b"0" * 50_000_000)
    yield bytes(range(256)) * 500
    yield b"\xef\xbb\xbf{}"
    yield b"\xff" * 1000


def large_records(data):
    """Yield records with a large part; each file is still small enough to be read."""
    yield data | {"samples_seconds": [0.1] * 1_000_000}
    yield data | {"checks": {f"check {number}": 1.0 for number in range(2000)}}
    yield data | {"params": data["params"] | {f"p{number}": "v" for number in range(1000)}}
    yield data | {"extras": {"n" * 1_000_000: 1.0}}
    yield data | {"name": "n" * 5_000_000}
    yield data | {"schema": "s" * 5_000_000}
    yield data | {"f" * 1_000_000: 1}
    failure = {"phase": "p", "kind": "k" * 10_000, "message": "m\n" * 2_000_000}
    yield data | {"status": "failed", "failure": failure}
    array = {"shape": [1], "dtype": "f", "bytes": 8, "where": "w"}
    yield with_value(data, ("constants", "arrays"), [array] * 50_000)
    yield with_value(data, ("environment", "machine"), "m" * 1_000_000)


def make_special(path, kind):
    """Make something other than a regular file of reasonable size."""
    links = ("/dev/zero", path.name, "nowhere", "/")
    if kind < len(links):
        path.symlink_to(links[kind])
    elif kind == 4:
        os.mkfifo(path)
    elif kind == 5:
        path.mkdir()
    else:
        path.touch()
        os.truncate(path, 2**31)


SPECIAL_COUNT = 7


def places(rng):
    """Yield paths for files, relative to a store; most are paths that records may have."""
    names = ("a b", "é", "-rf", "<b>", "%s", "*", "a\nb", "n" * 200, "con", "'; drop", "\x7f")
    for number in itertools.count():
        kind = rng.randrange(10)
        if kind < 4:
            yield Path(COMMIT, KEY, "casing_variants", "w7x-closure-d3", f"{number + 10}.json")
        elif kind < 7:
            yield Path(COMMIT, KEY, "casing_variants", f"hostile-{number}", "0.json")
        elif kind == 7:
            yield Path(COMMIT, KEY, rng.choice(names), f"{number}.json")
        elif kind == 8:
            yield Path(COMMIT, f"{KEY}@{rng.choice(names)}", "suite", f"case-{number}", "0.json")
        else:
            name = rng.choice((f"{number:07x}", f"{number:040x}", rng.choice(names), COMMIT[:9]))
            yield Path(name, KEY, "suite", f"case-{number}", f"{rng.choice((0, -1, 10**12))}.json")


def hostile(records, count):
    """Return `count` files: contents as bytes, or kinds of `make_special`."""
    rng = random.Random(18)
    data = [json.loads(record.to_json()) for record in records]
    made = [*whole_files(), *(json.dumps(one).encode() for one in large_records(data[0]))]
    made += [number % SPECIAL_COUNT for number in range(5 * SPECIAL_COUNT)]
    # Five texts with a changed field for each text with changed bytes, which is rarely JSON.
    kinds = [*[changed_fields] * 5, changed_bytes]
    order = [make(one, rng) for make in kinds for one in data]
    made += [next(order[number % len(order)]) for number in range(count - len(made))]
    rng.shuffle(made)
    return made


def write_hostile(root, records, count):
    """Write hostile files into a store; return their paths.

    Some of the files are valid records, for example with one changed number.
    """
    rng = random.Random(81)
    written = []
    for content, within in zip(hostile(records, count), places(rng), strict=False):
        path = root / within
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            make_special(path, content)
        written.append(path)
    os.makedirs((root / COMMIT / KEY).joinpath(*["d"] * 200))
    (root / COMMIT / "linked").symlink_to(root)
    return written
