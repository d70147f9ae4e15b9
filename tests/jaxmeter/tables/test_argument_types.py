"""An argument of a wrong type is named, with the type that the function takes."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxmeter import Case, JaxmeterError
from jaxmeter import tables as jt

CASE = Case(lambda x: x + 1.0, (jnp.ones(3),))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (jt.hlo_file, "hlo_file: got path=.*; give a value of type Path"),
        (jt.read_dump, "read_dump: got folder=.* Path"),
        (jt.read_nsys, "read_nsys: got path=.* Path"),
        (jt.read_trace, "read_trace: got path=.* Path"),
        (jt.trace_file, "trace_file: got place=.* Path"),
        (jt.xprof_tables, "xprof_tables: got path=.* Path"),
        (lambda value: jt.nsys_export("nsys", value), "nsys_export: got report=.* Path"),
        (lambda value: jt.nsys_profile("nsys", [], value), "nsys_profile: got report=.* Path"),
        (lambda value: jt.capture(CASE, value), "capture: got folder=.* Path"),
        (lambda value: jt.dump_program(CASE, value), "dump_program: got folder=.* Path"),
        (lambda value: jt.save({}, value), "save: got folder=.* Path"),
        (jt.hlo_of, "hlo_of: got case=.* Case"),
        (jt.runner, "runner: got case=.* Case"),
        (lambda value: jt.capture(value, "folder"), "capture: got case=.* Case"),  # type: ignore
        (
            lambda value: jt.dump_program(value, "folder"),  # type: ignore
            r"dump_program: got program=.* Case \| jax.stages.Lowered",
        ),
        (jt.compile_tables, "compile_tables: got profile=.* CompileProfile"),
        (jt.dump_tables, "dump_tables: got dump=.* Dump"),
        (jt.nsys_tables, "nsys_tables: got capture=.* NsysCapture"),
        (jt.trace_tables, "trace_tables: got trace=.* Trace"),
        (jt.memory_table, r"memory_table: got points=.* Sequence\[Point\]"),
        (lambda value: jt.diff_dumps(value, {}), r"diff_dumps: got before=.* Mapping\[str, pd"),
        (lambda value: jt.save(value, "folder"), r"save: got tables=.* Mapping"),  # type: ignore
    ],
)
def test_an_argument_of_a_wrong_type_is_named(call, message):
    for value in (None, 3, [1], {"a": 1}, jnp.ones(2)):
        with pytest.raises(JaxmeterError, match=f"(?s)^{message}"):
            call(value)


def test_strings_for_paths_and_integers_of_numpy_are_accepted(tmp_path):
    folder = str(tmp_path / "tables")
    assert jt.save({}, folder).name == "tables"  # type: ignore
    assert jt.trace_file(jt.capture(CASE, tmp_path, repeat=np.int64(1))).is_file()  # type: ignore
    program = tmp_path / "nsys"
    program.write_text("#!/bin/sh\necho version 2024.1\n")
    program.chmod(0o755)
    assert jt.nsys_version(jt.nsys_program(program)) == jt.nsys_version(program) == "2024.1"


def test_a_missing_argument_is_a_type_error():
    with pytest.raises(TypeError, match=r"read_dump\(\) missing 1 required positional argument"):
        jt.read_dump()  # type: ignore


def test_a_number_in_place_of_rows_and_a_command_in_one_string_are_refused():
    with pytest.raises(JaxmeterError, match=r"frame: got rows=3; give a value of type Iterable"):
        jt.frame("dump", 3)  # type: ignore
    with pytest.raises(JaxmeterError, match=r"nsys_profile: got command='python a.py'; give"):
        jt.nsys_profile("nsys", "python a.py", "report")  # type: ignore
