"""The far kernel at nodes next to a point, against an expression without cancellation."""

import numpy as np
import pytest
from scipy.special import hyp1f1

from vcjax._kernels.rays import _LONG_SERIES, _SERIES
from vcjax._kernels.split import far_split


@pytest.mark.parametrize(("terms", "largest"), [(_SERIES, 1.2), (_LONG_SERIES, 2.3)])
def test_the_series_of_the_far_kernel_is_accurate_up_to_its_limit(terms, largest):
    square = np.linspace(0.0, largest, 20) ** 2
    # erf(t) - 2 t exp(-t^2)/sqrt(pi) in terms of Kummer's function: DLMF 7.11.4 and 13.2.39.
    far = 4 / (3 * np.sqrt(np.pi)) * np.exp(-square) * hyp1f1(1.0, 2.5, square)
    np.testing.assert_allclose(far_split(square, terms), far, rtol=1e-11)
