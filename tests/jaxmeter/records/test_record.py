"""Records are immutable and round-trip through JSON exactly."""

import copy
import dataclasses
import json
import math
import pickle

import numpy as np
import pytest

import jaxmeter
from jaxmeter import Record, RecordError

FULL = Record(
    name="suite/case-d6",
    status="failed",
    target="package.module:function",
    params={"digits": 6, "half_period": True, "scale": 0.1, "mode": "closure", "chunk": None},
    failure=jaxmeter.Failure("compile", "Timeout", "was in compile\nafter 8 s", "trace", "µ out"),
    phases=jaxmeter.Phases(0.1, 1 / 3, 2.0, None),
    setup_seconds=0.25,
    samples_seconds=(
        *(0.1, 1 / 3, -0.0, 5e-324, 1e22, 123456789.123456789, math.pi, 1.7976931348623157e308),
    ),
    constants=jaxmeter.Constants(
        captured_bytes=1536,
        captured_count=1,
        embedded_bytes=0,
        embedded_count=0,
        hidden_argument_bytes=1536,
        arrays=(jaxmeter.ConstantArray((64, 3), "float64", 1536, "jit(f)/scan"),),
    ),
    counts=jaxmeter.Counts(1, 1, 0, 0),
    program=jaxmeter.Program(12, 34, 5, 1e9, 2.5e8, "abc"),
    memory=jaxmeter.Memory(temp_bytes=2**40),
    checks={"error_relative": 1e-7},
    extras={"prepare_seconds": 0.125},
    environment=dataclasses.replace(
        jaxmeter.host_environment(),
        cpu_model=None,
        jax_options={"jax_enable_x64": True, "jax_platforms": None},
    ),
    wall_seconds=3.5,
    compile_summary=jaxmeter.CompileSummary(
        1.5,
        (jaxmeter.CompiledLine("a.py:1", "f", "x + 1", 0.1, 0.2, 0.3, 0.0, 4, 1, 2),),
        (jaxmeter.CompiledKernel("add.1", 0.1, 0.2, 2, {"add": 2}, "", "add", "a.py:1"),),
    ),
)


@pytest.mark.parametrize("record", [FULL, Record("least", "ok")], ids=["full", "least"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_record_comes_back_from_json_equal(record, indent):
    text = record.to_json(indent=indent)
    assert Record.from_json(text) == record
    assert Record.from_json(text.encode()) == record
    assert Record.from_json(text).to_json(indent=indent) == text
    # Equal numbers may differ in their bits: 0.0 and -0.0.
    samples = Record.from_json(text).samples_seconds
    assert [one.hex() for one in samples] == [one.hex() for one in record.samples_seconds]


def test_nan_and_infinities_come_back_and_the_text_is_strict_json():
    checks = {"a": math.nan, "b": math.inf, "c": -math.inf, "d": 1.0}
    text = dataclasses.replace(FULL, checks=checks).to_json()
    json.loads(text, parse_constant=pytest.fail)
    back = Record.from_json(text).checks
    assert math.isnan(back["a"])
    assert (back["b"], back["c"], back["d"]) == (math.inf, -math.inf, 1.0)
    assert all(type(value) is float for value in back.values())


def test_numpy_scalars_are_written_as_plain_numbers():
    record = dataclasses.replace(
        FULL, samples_seconds=(np.float64(0.1),), setup_seconds=np.float32(0.5)
    )
    assert Record.from_json(record.to_json()) == record


@pytest.mark.parametrize("length", [0, 1, 50, 500, -1])
def test_a_truncated_text_is_refused_as_truncated(length):
    text = FULL.to_json()[:length]
    with pytest.raises(RecordError, match=r"Record\.from_json: got \d+ .*truncated or from"):
        Record.from_json(text)


@pytest.mark.parametrize("text", ["[]", "3", "null", "{}", '{"name": "x"}', '{"schema": 99}'])
def test_foreign_json_is_refused_by_its_schema(text):
    with pytest.raises(RecordError, match=r"Record\.from_json: got schema .*this jaxmeter reads"):
        Record.from_json(text)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("name",), 3, r"expected `str`, got `int` - at `record\.name`"),
        (("status",), "weird", r"'weird' - at `record\.status`"),
        (("samples_seconds",), [0.1, "x"], r"record\.samples_seconds\[1\]"),
        (("samples_seconds",), {}, r"record\.samples_seconds"),
        (("phases", "trace_seconds"), "1 s", r"record\.phases\.trace_seconds"),
        (("phases",), None, r"record\.phases"),
        (("phases", "fly_seconds"), 1.0, r"unknown field record\.phases\.fly_seconds"),
        (("counts", "traces_count"), 1.5, r"record\.counts\.traces_count"),
        (("counts", "traces_count"), True, r"record\.counts\.traces_count"),
        (("checks",), {"error": "large"}, r"record\.checks"),
        (("params",), {"list": [1]}, r"record\.params"),
        (("constants", "arrays"), [{"shape": [1]}], r"`dtype` - at `record\.constants\.arrays\[0"),
        (("environment",), {}, r"required field `python` - at `record\.environment`"),
    ],
)
def test_a_field_that_does_not_fit_is_named(path, value, message):
    data = json.loads(FULL.to_json())
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(RecordError, match=message):
        Record.from_json(json.dumps(data))


def test_an_absent_field_gets_its_default():
    data = json.loads(FULL.to_json())
    del data["wall_seconds"], data["memory"]
    back = Record.from_json(json.dumps(data))
    assert back == dataclasses.replace(FULL, wall_seconds=None, memory=jaxmeter.Memory())


def test_an_error_in_writing_names_the_call_and_the_field_of_the_wrong_type():
    record = dataclasses.replace(FULL, setup_seconds="long")  # pyright: ignore
    with pytest.raises(RecordError, match=r"Record\.to_json: .* at `record\.setup_seconds`"):
        record.to_json()


def test_a_record_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FULL.name = "other"  # pyright: ignore
    with pytest.raises(dataclasses.FrozenInstanceError):
        FULL.phases.trace_seconds = 0.0  # pyright: ignore
    with pytest.raises(TypeError, match=r"dataclasses\.replace"):
        FULL.checks["error_relative"] = 0.0
    with pytest.raises(TypeError):
        FULL.params.update(digits=3)
    with pytest.raises(TypeError):
        del FULL.extras["prepare_seconds"]


def test_a_record_does_not_share_the_dictionary_it_was_made_from():
    checks = {"error": 1.0}
    record = Record("a", "ok", checks=checks)
    checks["error"] = 2.0
    assert record.checks == {"error": 1.0}


def test_a_record_can_be_hashed_copied_pickled_and_turned_into_a_dictionary():
    assert hash(FULL) == hash(Record.from_json(FULL.to_json()))
    assert copy.deepcopy(FULL) == pickle.loads(pickle.dumps(FULL)) == FULL
    assert dataclasses.asdict(FULL)["phases"]["trace_seconds"] == 0.1


def test_the_least_compile_has_the_minimum_of_each_phase_over_the_first_compiles():
    again = (jaxmeter.Phases(1.0, 5.0, 0.5, 0.1), jaxmeter.Phases(0.5, 4.0, None))
    record = Record("a", "ok", phases=jaxmeter.Phases(2.0, 3.0, 1.0, 9.0), recompiles=again)
    assert record.least_compile() == jaxmeter.Phases(0.5, 3.0, 0.5)
    assert record.least_compile(2) == jaxmeter.Phases(1.0, 3.0, 0.5)
    assert record.least_compile(1) == jaxmeter.Phases(2.0, 3.0, 1.0)
    assert Record("a", "ok").least_compile() == jaxmeter.Phases()


def test_a_fingerprint_that_depends_on_names_is_not_known_when_an_older_record_is_read():
    older = (
        Record(name="r", status="ok")
        .to_json()
        .replace('"hlo_fingerprint": null', f'"hlo_fingerprint": "{"ab" * 32}"')
    )
    assert '"abab' in older
    assert Record.from_json(older).program.hlo_fingerprint is None
