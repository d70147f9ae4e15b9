"""Read arguments from files: arrays that numpy saved, and pickles."""

from __future__ import annotations

import contextlib
import pickle
import zipfile
from collections.abc import Iterator

from jaxmeter._measure.case import Call, split_call
from jaxmeter._records.files import check_file, read_file
from jaxmeter.errors import FileError, JaxmeterError

FILE_BYTES = 2**33
"""The maximum size of a file of arguments: 8 GiB."""


@contextlib.contextmanager
def _errors(option: str, file: str, advice: str) -> Iterator[None]:
    """If a ``with`` block cannot read a file, raise a `JaxmeterError` that names the option."""
    try:
        yield
    except FileError as error:
        raise JaxmeterError(f"{option}: {error}") from None
    # Unpickling may raise any exception. For hostile files, numpy, zipfile and zlib raise
    # exceptions that are not documented.
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise JaxmeterError(f"{option}: got {file!r} ({text[:300]}); {advice}") from error


def arguments_of_npz(file: str) -> Call:
    """Return the arrays of an npz file as positional and named arguments.

    The arrays ``arr_0``, ``arr_1``, ... are positional. All other arrays are named.
    """
    import numpy as np

    advice = "give a file that np.savez(file, x, name=y) wrote, of at most 8 GiB"
    with _errors("--npz", file, advice):
        check_file(file, FILE_BYTES)
        arrays = {}
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                with archive.open(name) as stream:
                    array = np.lib.format.read_array(stream, allow_pickle=False)
                    # numpy reads only as many bytes as the header states. Read on, because zipfile
                    # checks the checksum only at the end of the content.
                    if stream.read(1):
                        raise ValueError(f"{name} has more bytes than its header states")
                arrays[name.removesuffix(".npy")] = array
    args = []
    while (name := f"arr_{len(args)}") in arrays:
        args.append(arrays.pop(name))
    return tuple(args), arrays


def arguments_of_pickle(file: str) -> Call:
    """Return the arguments that a pickle contains. Reading a pickle can run code from the file."""
    advice = (
        "give a file that pickle.dump((args, kwargs), file) wrote, with classes that can be "
        "imported here"
    )
    with _errors("--pickle", file, advice):
        content = pickle.loads(read_file(file, FILE_BYTES))
    if not isinstance(content, tuple):
        raise JaxmeterError(
            f"--pickle: got {type(content).__name__} in {file!r}; pickle a tuple of arguments, or "
            "the pair (args, kwargs)"
        )
    return split_call(content)
