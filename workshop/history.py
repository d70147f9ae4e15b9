"""Make the git repository of lesson 6, with injected regressions in a small program."""

from __future__ import annotations

import subprocess
from pathlib import Path

FIRST = '''"""The magnetic field of a coil made of straight segments, in tesla."""

import jax
import jax.numpy as jnp

ANGLE = jnp.linspace(0.0, 2 * jnp.pi, 1025)
CORNERS = jnp.stack([jnp.cos(ANGLE), jnp.sin(ANGLE), 0.1 * jnp.sin(3 * ANGLE)], axis=-1)


def segment_field(start, end, point):
    # J. D. Hanson, S. P. Hirshman, Phys. Plasmas 9 (2002) 4410.
    along = end - start
    length = jnp.linalg.norm(along)
    from_start, from_end = point - start, point - end
    near, far = jnp.linalg.norm(from_start), jnp.linalg.norm(from_end)
    size = 2 * (near + far) / (near * far) / ((near + far) ** 2 - length**2)
    return size * jnp.cross(along, from_start)


def field(points, corners, current):
    def at(point):
        over = jax.vmap(segment_field, (0, 0, None))
        return over(corners[:-1], corners[1:], point).sum(axis=0)

    return 1e-7 * current * jax.lax.map(at, points)


def jaxmeter_arguments(name):
    points = 0.3 * CORNERS[::16]
    return points, CORNERS, 1000.0
'''

MAP = "jax.lax.map(at, points)"
SUM = "over(corners[:-1], corners[1:], point).sum(axis=0)"
PARTS = """parts = [
            over(corners[k:-1:4], corners[k + 1 :: 4], point).sum(axis=0) for k in range(4)
        ]
        return parts[0] + parts[1] + parts[2] + parts[3]"""

CHANGES: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Name the vectors to a point after their ends",
        (("from_start", "to_start"), ("from_end", "to_end")),
    ),
    (
        "Take the corners from the module",
        (("field(points, corners,", "field(points, unused,"), ("corners[", "CORNERS[")),
    ),
    (
        "Take the corners as an argument again",
        (("field(points, unused,", "field(points, corners,"), ("CORNERS[", "corners[")),
    ),
    ("Sum the segments in four parts", (("return " + SUM, PARTS),)),
    ("Explain the shape of the answer", (("    def at(", "    # An array (n, 3).\n    def at("),)),
    ("Compute all points at once", ((MAP, "jax.vmap(at)(points)"),)),
)
"""Each commit after the first: its subject, and pairs (old text, new text) for its changes."""


def versions() -> list[tuple[str, str]]:
    """Return the subject and the source code of each commit, the oldest first."""
    found = [("Compute the field of a coil", FIRST)]
    for subject, replaced in CHANGES:
        source = found[-1][1]
        for old, new in replaced:
            head, arguments, tail = source.partition("def jaxmeter_arguments")
            assert old in head, f"{subject!r} replaces {old!r}, which the previous commit lacks"
            source = head.replace(old, new) + arguments + tail
        found.append((subject, source))
    return found


def make_repository(folder: Path) -> list[str]:
    """Make a git repository with a commit for each version; return the hashes, the oldest first.

    `folder` is empty or does not exist.
    """

    def git(*arguments: str) -> str:
        author = ["-c", "user.name=Workshop", "-c", "user.email=workshop@example.org"]
        command = ["git", *author, "-c", "commit.gpgsign=false", *arguments]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    folder.mkdir(parents=True, exist_ok=True)
    git("init", "--quiet", "--initial-branch=main")
    commits = []
    for subject, source in versions():
        (folder / "coil.py").write_text(source)
        git("add", "coil.py")
        git("commit", "--quiet", "--no-verify", "-m", subject)
        commits.append(git("rev-parse", "--short", "HEAD"))
    return commits
