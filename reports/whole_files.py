"""Files that are whole or absent: written beside their place, then moved there."""

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def draft_of(path: Path, content: bytes) -> Iterator[Path]:
    """A file of `content` beside `path`, to be moved or linked there before the context ends.

    With the rights that any new file gets, unlike those of `tempfile`, which are its owner's alone.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(draft, "xb") as stream:
            stream.write(content)
        yield draft
    finally:
        draft.unlink(missing_ok=True)
