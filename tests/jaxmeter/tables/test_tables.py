"""Every table matches its schema, is documented, and survives being saved."""

import dataclasses
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from jaxmeter import Environment, JaxmeterError, host_environment
from jaxmeter import tables as jt
from jaxmeter.tables import documentation, frame

CHECKOUT = Path(__file__).resolve().parents[3]
UNITS = ("_seconds", "_bytes", "_count", "_fraction", "_relative", "_ratio", "_per_second")
NUMBERS = {"seconds", "bytes", "count", "step", "position", "ratio", "op_occupancy"}
SIZES = {"chunk_size", "target_chunk_size", "flops", "flops_per_byte", "block", "grid"}


def test_column_names_of_numbers_end_in_their_unit():
    for name, schema in jt.SCHEMAS.items():
        for column, (kind, meaning) in schema.columns.items():
            assert re.fullmatch(r"[a-z][a-z0-9_]*", column) and meaning
            if kind in ("Int64", "Float64") and column not in NUMBERS | SIZES:
                assert column.endswith(UNITS) or "ratio" in column, f"{name}.{column}"
            if kind == "boolean":
                assert column.startswith("is_"), f"{name}.{column}"


def test_the_page_of_tables_is_up_to_date():
    page = (CHECKOUT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert page == documentation(), "update it: python -m jaxmeter.tables > docs/tables.md"


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
    with pytest.raises(JaxmeterError, match=r"trace_scopes.count that are not Int64"):
        frame("trace_scopes", [{"count": "many"}])


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
    (tmp_path / "file").write_text("")
    with pytest.raises(JaxmeterError, match="give a folder that can be written"):
        jt.save(tables, tmp_path / "file", environment)
