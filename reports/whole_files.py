"""Write files atomically: write a draft in the same folder, then move the draft into place."""

import contextlib
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

DRAFT = ".tmp"


@contextlib.contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Yield an unused path next to `path` for a draft, and delete the draft if it remains.

    The caller writes the draft, then moves or links it to `path`. `tempfile` is not used, because
    it makes files that only their owner can read.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}{DRAFT}")
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def is_draft(name: str, of: Iterable[str]) -> bool:
    """Return whether the file `name` is a draft of one of the files named in `of`."""
    return name.endswith(DRAFT) and name.startswith(tuple(f"{known}." for known in of))
