"""The shapes of the accuracy study: their currents lie where the known answers need them."""

import numpy as np
import pytest

from studies.accuracy import measure
from studies.accuracy.shapes import FIELDS, shapes
from vcjax.problems import CentralConductor


@pytest.mark.parametrize("name", shapes())
def test_currents_lie_on_the_side_that_they_are_given_for(name):
    shape = shapes()[name]
    for field in FIELDS:
        for currents, expected in zip(shape.currents(field), (False, True), strict=True):
            for source in currents:
                if isinstance(source, CentralConductor):
                    continue
                points, _ = source.curve(2 * np.pi * np.arange(12) / 12)
                found = measure.is_inside_of(shape, points, np.zeros(12, bool), np.ones(12))
                assert (found == expected).all()
