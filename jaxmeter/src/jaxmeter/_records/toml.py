"""Read TOML files: the tables of jaxmeter in a pyproject.toml, and the lock file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from jaxmeter._records.files import read_file
from jaxmeter.errors import FileError, JaxmeterError


def read_toml(file: Path) -> dict[str, Any]:
    """Return the content of a TOML file; {} if the file does not exist.

    Raises
    ------
    JaxmeterError
        If the file cannot be read, is not regular, is larger than 16 MiB or is not TOML.
    """
    try:
        return tomllib.loads(read_file(file).decode())
    except FileNotFoundError:
        return {}
    except FileError:  # a FileError is a ValueError, but the text was not read
        raise
    except OSError as error:
        raise JaxmeterError(
            f"{file}: cannot be read ({error.strerror}); give a readable file"
        ) from None
    except (ValueError, RecursionError) as error:  # the text is not UTF-8 or not TOML
        raise JaxmeterError(
            f"{file}: got text that is not TOML ({error}); correct the file"
        ) from None


def tool_table(pyproject: Path, name: str) -> tuple[str, dict[str, Any]]:
    """Return a text for error messages, and the table ``[tool.jaxmeter.name]`` of a file.

    The text contains the file and the heading of the table. The returned table is {} if the file
    does not have the table.

    Raises
    ------
    JaxmeterError
        If the file cannot be read or is not TOML, or if an entry on the way is not a table.
    """
    table: Any = read_toml(pyproject)
    where = f"{pyproject}: [tool.jaxmeter.{name}]"
    for key in ("tool", "jaxmeter", name):
        table = table.get(key, {})
        if not isinstance(table, dict):
            raise JaxmeterError(f"{where}: got {key} = {table!r:.80}; make {key} a table")
    return where, table
