"""Tables match their schemas, are documented, and are saved unchanged."""

import dataclasses
import json

import pandas as pd
import pytest

from jaxmeter import Environment, JaxmeterError, host_environment
from jaxmeter import tables as jt
from jaxmeter.tables import documentation, frame


def test_the_name_of_a_column_decides_its_kind_and_numbers_need_a_unit():
    kinds = {name: kind for name, (kind, _) in jt.SCHEMAS["trace_ops"].columns.items()}
    assert kinds["scope"] == "string" and kinds["is_inherited"] == "boolean"
    assert kinds["count"] == "Int64" and kinds["self_seconds"] == "Float64"
    with pytest.raises(JaxmeterError, match=r"trace_ops.scope .*must end in a unit"):
        frame("trace_ops", [{"scope": 3}])


def test_the_page_of_tables_gives_each_column_the_kind_that_its_name_decides():
    kinds = {
        "text": "string",
        "whole number": "Int64",
        "number": "Float64",
        "true or false": "boolean",
    }
    rows = [line.split(" | ") for line in documentation().splitlines() if line.startswith("| `")]
    columns = [
        (name, kind) for table in jt.SCHEMAS.values() for name, (kind, _) in table.columns.items()
    ]
    assert [(name.strip("| `"), kinds[kind]) for name, kind, *_ in rows] == columns


def test_a_table_has_the_columns_and_kinds_of_its_schema_even_if_empty(tables):
    for name, table in {**tables, "empty": frame("memory", [])}.items():
        known = jt.SCHEMAS["memory" if name == "empty" else name].columns
        assert list(table.columns) == list(known)
        assert [str(dtype) for dtype in table.dtypes] == [kind for kind, _ in known.values()]


def test_a_column_or_value_outside_the_schema_is_refused():
    with pytest.raises(JaxmeterError, match="schema of 'trace_scopes' lacks"):
        frame("trace_scopes", [{"scoop": "a"}])
    with pytest.raises(JaxmeterError, match="got name='scopes'; give the name of a schema: .*nsys"):
        frame("scopes", [])
    for value in ("many", 2**70):
        with pytest.raises(JaxmeterError, match=r"trace_scopes.count that are not Int64"):
            frame("trace_scopes", [{"count": value}])


def test_tables_are_saved_as_parquet_and_csv_with_the_environment(tables, tmp_path):
    environment = dataclasses.replace(host_environment(), backend="cpu")
    jt.save(tables, tmp_path / "new", environment, notes={"source": "here"})
    for name, table in tables.items():
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "new" / f"{name}.parquet"), table)
        assert len(pd.read_csv(tmp_path / "new" / f"{name}.csv")) == len(table)
    saved = json.loads((tmp_path / "new" / "environment.json").read_text())
    assert saved["source"] == "here"
    assert set(saved["environment"]) == {field.name for field in dataclasses.fields(Environment)}
    assert not list((tmp_path / "new").glob(".*"))


def test_tables_are_not_saved_in_place_of_a_file(tables, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(JaxmeterError, match="give a folder that can be written"):
        jt.save(tables, tmp_path / "file")
