"""A file that does not have the format of its option causes a clear error."""

import os
import pickle
import zipfile

import numpy as np
import pytest

from jaxmeter import JaxmeterError
from jaxmeter._cli.argument_files import arguments_of_npz, arguments_of_pickle

HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }"


def npy(shape, content=b"", version=b"\x01\x00"):
    header = (HEADER % shape).encode()
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header + content


def npz(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def test_arrays_are_read_by_position_and_by_name(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, np.ones(3), np.zeros((2, 2), "int32"), scale=2.0)
    (first, second), named = arguments_of_npz(str(path))
    assert first.tolist() == [1, 1, 1] and second.shape == (2, 2) and named["scale"] == 2.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy("(3,)", b"\0" * 16), "expected 24 bytes got 16"),
        (npy("(-1,)", b"\0" * 16), "negative dimensions"),
        (npy("(" * 5000), "Header|header|parse|EOF|nested"),
        (npy("(3,)", version=b"\x09\x00"), "version|format|EOF"),
        (npy("(1,)", b"\0" * 16), r"x\.npy has more bytes than its header states"),
        (b"no array", "magic"),
        (b"", "magic"),
    ],
)
def test_an_array_that_contradicts_its_header_causes_a_clear_error(content, message, tmp_path):
    path = npz(tmp_path / "a.npz", x=content)
    with pytest.raises(JaxmeterError, match=rf"--npz: got '.*a\.npz' \(.*({message})"):
        arguments_of_npz(str(path))


def test_a_file_with_a_damaged_array_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.ones(30))
    path.write_bytes(path.read_bytes().replace(np.ones(2).tobytes(), np.zeros(2).tobytes()))
    with pytest.raises(JaxmeterError, match=r"CRC-32 for file 'x\.npy'"):
        arguments_of_npz(str(path))


def test_python_objects_are_not_unpickled_by_npz(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.array([print], dtype=object))
    with pytest.raises(JaxmeterError, match="allow_pickle=False"):
        arguments_of_npz(str(path))


@pytest.mark.parametrize("read", [arguments_of_npz, arguments_of_pickle])
@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        lambda path: path.write_bytes(b"PK\x03\x04" + b"\xff" * 100),
        lambda path: path.write_bytes(b""),
    ],
)
def test_a_file_without_arguments_causes_a_clear_error(make, read, tmp_path):
    path = tmp_path / "arguments"
    make(path)
    with pytest.raises(JaxmeterError, match="got '.*arguments'.*; give a (regular )?file"):
        read(str(path))


class Raising:
    def __reduce__(self):
        return (exec, ("raise RuntimeError('code of the file')",))


def test_a_pickle_that_raises_causes_a_clear_error(tmp_path):
    path = tmp_path / "a.pickle"
    path.write_bytes(pickle.dumps(Raising()))
    with pytest.raises(JaxmeterError, match="code of the file"):
        arguments_of_pickle(str(path))
