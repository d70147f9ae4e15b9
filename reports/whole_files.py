"""Write files atomically: to a draft in the same folder, which is then moved into place."""

import contextlib
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

DRAFT = ".tmp"


@contextlib.contextmanager
def draft_of(path: Path, content: bytes) -> Iterator[Path]:
    """Write `content` to a draft beside `path`, and yield the path of the draft.

    The caller moves or links the draft to `path`; when the context ends, a remaining draft is
    deleted. The draft has the permissions of any new file, whereas only the owner can read a file
    that `tempfile` makes.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}{DRAFT}")
    try:
        with open(draft, "xb") as stream:
            stream.write(content)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def is_draft(name: str, of: Iterable[str]) -> bool:
    """Return whether the file `name` is a draft of one of the files named in `of`."""
    return name.endswith(DRAFT) and name.startswith(tuple(f"{known}." for known in of))
