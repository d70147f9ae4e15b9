"""Files that are whole or absent: written beside their place, then moved there."""

import contextlib
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

DRAFT = ".tmp"


@contextlib.contextmanager
def draft_of(path: Path, content: bytes) -> Iterator[Path]:
    """Write `content` to a file beside `path`, to move or link there before the context ends.

    It has the rights of any new file; those of `tempfile` are its owner's alone.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}{DRAFT}")
    try:
        with open(draft, "xb") as stream:
            stream.write(content)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def is_draft(name: str, of: Iterable[str]) -> bool:
    """Return whether a file was left by a writer of one of those names that was killed."""
    return name.endswith(DRAFT) and name.startswith(tuple(f"{known}." for known in of))
