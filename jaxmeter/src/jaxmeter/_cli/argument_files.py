"""Read arguments from files: arrays that numpy saved, and pickles."""

from __future__ import annotations

import contextlib
import math
import pickle
import zipfile
from collections.abc import Iterator

from jaxmeter._measure.case import Call, split_call
from jaxmeter._records.files import check_file, read_file
from jaxmeter.errors import FileError, JaxmeterError

FILE_BYTES = 2**33
"""The maximum size of a file of arguments, and of its unpacked arrays together: 8 GiB."""


@contextlib.contextmanager
def _errors(option: str, file: str, advice: str) -> Iterator[None]:
    """Raise a `JaxmeterError` that names the option if a ``with`` block cannot read a file."""
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

    Raises
    ------
    JaxmeterError
        If the file cannot be read, was not saved by numpy or contains Python objects, if an array
        has another size than its header gives, or if the arrays take more than 8 GiB.
    """
    import numpy as np

    advice = "give a file that np.savez(file, x, name=y) wrote, of at most 8 GiB"
    with _errors("--npz", file, advice):
        check_file(file, FILE_BYTES)
        for name, size in _unpacked_bytes(file):
            if size > FILE_BYTES:
                raise ValueError(
                    f"the arrays up to and including {name} take {size / 2**30:,.2f} GiB in total, "
                    "above the limit of 8 GiB"
                )
        with np.load(file) as data:
            arrays = dict(data)
    args = []
    while (name := f"arr_{len(args)}") in arrays:
        args.append(arrays.pop(name))
    return tuple(args), arrays


def _unpacked_bytes(file: str) -> Iterator[tuple[str, int]]:
    """Yield the name of each array, and the running total of unpacked bytes up to this array.

    No array is read. Raise a ValueError if an array does not have the size that its header gives.
    """
    from numpy.lib import format as npy

    total = 0
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            total += member.file_size
            yield member.filename, total
            if not member.filename.endswith(".npy"):
                continue
            with archive.open(member) as stream:
                version = npy.read_magic(stream)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape, _, dtype = read(stream)
                said = math.prod(shape) * dtype.itemsize
                held = member.file_size - stream.tell()
                if not dtype.hasobject and said != held:
                    raise ValueError(
                        f"{member.filename} holds {held} bytes, but its header gives {said}"
                    )


def arguments_of_pickle(file: str) -> Call:
    """Return the arguments that a pickle contains. Reading a pickle can run code from the file.

    Raises
    ------
    JaxmeterError
        If the file cannot be read or unpickled, or does not contain a tuple.
    """
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
