"""The accuracy study: where its currents and targets lie, and the rows that it saves."""

import numpy as np
import pytest

from studies.__main__ import main
from studies.accuracy import measure, study
from studies.accuracy.shapes import FIELDS, shapes
from studies.harness import append_row, measured, read_rows, write_rows
from vcjax.problems import CentralConductor, PoloidalCoil


@pytest.mark.parametrize("name", shapes())
def test_the_first_currents_lie_outside_and_the_second_currents_inside(name):
    shape = shapes()[name]
    for field in FIELDS:
        for currents, expected in zip(shape.currents(field), (False, True), strict=True):
            for source in currents:
                if isinstance(source, CentralConductor):
                    continue
                points, _ = source.curve(2 * np.pi * np.arange(12) / 12)
                found = measure.is_inside_of(shape, points, np.zeros(12, bool), np.ones(12))
                assert (found == expected).all()


@pytest.mark.parametrize("name", shapes())
def test_a_row_of_targets_is_at_the_angle_of_the_first_poloidal_coil_if_any(name):
    shape = shapes()[name]
    coils = [one for one in shape.currents("coils")[0] if isinstance(one, PoloidalCoil)]
    targets = measure._grid_points(shape, measure.targets_of(shape))
    rows = np.arctan2(targets[:, 0, 1], targets[:, 0, 0])
    assert not coils or np.abs(rows - coils[0].phi).min() < 1e-9


@pytest.mark.parametrize("field", FIELDS)
def test_the_places_that_face_currents_are_nearest_to_the_currents(field):
    shape = shapes()["ellipse, 4 periods, 2 : 1"]
    for currents, place in zip(
        shape.currents(field), measure.facing(shape, shape.currents(field)), strict=False
    ):
        loops = [one for one in currents if not isinstance(one, CentralConductor)]
        curves = np.concatenate([one.curve(np.linspace(0.0, 6.28, 500))[0] for one in loops])
        fine = measure.frame(
            shape.name, (shape.rows(measure._FINE[0]), measure._FINE[1]), (place,)
        )[0]
        others = measure.frame(shape.name)[0]
        away = [np.linalg.norm(x[:, None] - curves, axis=2).min() for x in (fine, others)]
        assert away[0] <= away[1] + 1e-3


def test_every_quantity_has_committed_rows_and_each_result_has_one_row():
    names = "shape", "field", "quantity", "digits", "distance", "side"
    rows = read_rows(measured("accuracy", "rows.csv"))
    results = [tuple(row[name] for name in names) for row in rows]
    assert len(set(results)) == len(results)
    assert {row["quantity"] for row in rows} == set(study.QUANTITIES)


def test_the_newest_rows_of_a_shape_replace_the_committed_rows_of_this_shape(tmp_path, monkeypatch):
    committed, out = tmp_path / "rows.csv", tmp_path / "rows.jsonl"
    monkeypatch.setattr(study, "measured", lambda study, name: committed)
    fixed = dict(field="near", quantity="off without patches", digits=3, distance=1.0, over=0.1)
    before = [dict(shape=shape, **fixed, code="first") for shape in ("QA", "QH")]
    write_rows(committed, study.kept_rows(before))
    assert main(["accuracy", "--save", "--out", str(out)]) == 2  # there are no rows to save
    for code in ("second", "third"):
        append_row(out, dict(shape="QA", **fixed, code=code))
    assert main(["accuracy", "--save", "--out", str(out)]) == 0
    assert [(row["shape"], row["code"]) for row in read_rows(committed)] == [
        ("QA", "third"),
        ("QH", "first"),
    ]
