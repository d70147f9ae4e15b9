"""Read files from other programs, write files completely or not at all, make temporary folders.

`read_file` reads only regular files of a limited size. Other files can block a program or fill its
memory: a FIFO may never get a writer, a device may have no end, and a sparse file may have many
gigabytes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxmeter.errors import FileError, JaxmeterError

RECORD_BYTES = 2**24
"""The default size limit of `read_file`, for files such as inventories and TOML files: 16 MiB."""
TEXT_BYTES = 2**28
"""The maximum size of a file with the text of a program, or with recorded events: 256 MiB."""
_READ_BYTES = 2**20
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_HELD = ".held"
_YOUNG_SECONDS = 60.0  # the process that made a younger folder may not have locked it yet


def read_file(path: str | Path, limit_bytes: int = RECORD_BYTES) -> bytes:
    """Return the content of a regular file of at most `limit_bytes`.

    Raises
    ------
    FileError
        If the path does not name a regular file, or the file is larger than `limit_bytes`.
    OSError
        If the file does not exist or cannot be read.
    """
    # Without O_NONBLOCK, opening a FIFO waits for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        _check_regular(path, os.fstat(descriptor), limit_bytes)
        parts, length = [], 0
        while part := os.read(descriptor, _READ_BYTES):
            parts.append(part)
            length += len(part)
            if length > limit_bytes:  # the file grows, or its size is not known
                raise _too_large(path, length, limit_bytes)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def check_file(path: str | Path, limit_bytes: int) -> None:
    """Raise a FileError if a file is not regular or has more than `limit_bytes`.

    Call this function before another library reads the file.
    """
    _check_regular(path, os.stat(path), limit_bytes)


@contextlib.contextmanager
def file_errors(call: str, path: str | Path, advice: str) -> Iterator[None]:
    """Turn an OSError or a FileError of a ``with`` block into a `JaxmeterError`.

    The message begins with ``call``. ``advice`` says what to give instead of ``path``, such as
    ``give a file of HLO text``.
    """
    try:
        yield
    except FileError as error:
        raise JaxmeterError(f"{call}: {error}") from None
    except OSError as error:
        reason = error.strerror or error
        raise JaxmeterError(f"{call}: got {os.fspath(path)!r} ({reason}); {advice}") from None


def _check_regular(path: str | Path, found: os.stat_result, limit_bytes: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "of an unknown kind")
        raise FileError(f"got {os.fspath(path)!r}, which is {kind}; give a regular file")
    if found.st_size > limit_bytes:
        raise _too_large(path, found.st_size, limit_bytes)


def _too_large(path: str | Path, size: int, limit_bytes: int) -> FileError:
    return FileError(
        f"got {os.fspath(path)!r}, which has {size / 2**20:,.0f} MiB or more; give a file of at "
        f"most {limit_bytes / 2**20:,.0f} MiB"
    )


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file completely or not at all.

    A draft is written in the same folder and then renamed. If the path names something other than a
    regular file, such as ``/dev/stdout``, the content is written there directly.

    Raises
    ------
    FileError
        If the file cannot be written. In this case no draft remains, and an existing file keeps its
        content.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        goal = path.resolve()  # write to the target of a link, and keep the link
        draft = goal.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
        try:
            with open(draft, "xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(goal)
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot write {str(path)!r} ({error.strerror or error}); an existing file is "
            "unchanged; free some disk space, or give a writable path"
        ) from error


def read_toml(file: Path) -> dict[str, Any]:
    """Return the content of a TOML file; {} if the file does not exist."""
    with file_errors("jaxmeter", file, "give a readable file"):
        try:
            content = read_file(file)
        except FileNotFoundError:
            return {}
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # the text is not UTF-8 or not TOML
        raise JaxmeterError(
            f"{file}: got text that is not TOML ({error}); correct the file"
        ) from None


def tool_table(pyproject: Path, name: str) -> tuple[str, dict[str, Any]]:
    """Return a text for error messages, and the table ``[tool.jaxmeter.name]`` of a file.

    The text contains the file and the heading of the table. The returned table is {} if the file
    or the table does not exist.
    """
    table: Any = read_toml(pyproject)
    where = f"{pyproject}: [tool.jaxmeter.{name}]"
    for key in ("tool", "jaxmeter", name):
        table = table.get(key, {})
        if not isinstance(table, dict):
            raise JaxmeterError(f"{where}: got {key} = {table!r:.80}; make {key} a table")
    return where, table


@contextlib.contextmanager
def temporary_folder(prefix: str = "jaxmeter-") -> Iterator[Path]:
    """Make a temporary folder for a ``with`` block, and remove the folders of killed processes.

    A process holds a lock on its folder. The system releases the lock when the process ends, even
    if the process is killed. Other folders of this user with the same prefix are removed if they
    are not locked and have not changed for a minute.

    Raises
    ------
    FileError
        If no folder can be made.
    """
    try:
        _clear(prefix)
        folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=_HELD))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_SH)
    except OSError as error:
        raise FileError(
            f"cannot make a temporary folder in {tempfile.gettempdir()!r} "
            f"({error.strerror or error}); free space there, or set TMPDIR to another folder"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _clear(prefix: str) -> None:
    """Remove the unlocked temporary folders of this user that have not changed for a minute."""
    for entry in os.scandir(tempfile.gettempdir()):
        if not (entry.name.startswith(prefix) and entry.name.endswith(_HELD)):
            continue
        with contextlib.suppress(OSError):  # not a folder, locked, of another user, or gone
            lock = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                found = os.fstat(lock)
                is_old = found.st_mtime < time.time() - _YOUNG_SECONDS
                if found.st_uid == os.getuid() and is_old:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry.path, ignore_errors=True)
            finally:
                os.close(lock)
