"""Files that are whole or absent: written beside their place, then moved there."""

import contextlib
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

DRAFT = ".tmp"


@contextlib.contextmanager
def draft_of(path: Path, content: bytes) -> Iterator[Path]:
    """A file of `content` beside `path`, to be moved or linked there before the context ends.

    With the rights that any new file gets, unlike those of `tempfile`, which are its owner's alone.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}{DRAFT}")
    try:
        with open(draft, "xb") as stream:
            stream.write(content)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def is_draft(name: str, of: Iterable[str]) -> bool:
    """Whether a file is what a killed writing of one of those names left."""
    return name.endswith(DRAFT) and name.startswith(tuple(f"{known}." for known in of))
