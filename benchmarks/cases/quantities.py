"""The two quantities that are measured on a surface: the field, and its gradient.

Each quantity has limits for its error, and the functions of vcjax and of the C++ package
``virtual_casing`` that compute the quantity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import vcjax
from vcjax.problems import Problem


class WrongAnswer(ArithmeticError):
    """The result of a measured program is wrong, or its error is larger than the limit."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A quantity that virtual casing computes, with its functions and limits."""

    name: str
    """Prefix of ``error_relative`` in the name of the quantity's error; empty for the field."""
    gradient: bool
    """The argument `gradient` of `vcjax.choose`."""
    # Called as ``tables(rule)``, ``prepare(rule, X, constants=...)`` and ``evaluate(casing, B)``.
    tables: Callable[..., Any]
    prepare: Callable[..., Any]
    evaluate: Callable[..., Any]
    reference_method: str
    """Name of the method with which the C++ package evaluates this quantity."""
    error: Callable[[Problem, Any], float]
    """Function that returns the largest error, given a problem and a result.

    The error is relative to the largest component of the total field or total gradient.
    """
    w7x_limits: Mapping[int, float] = field(default_factory=dict)
    """Limits for the error on the W7-X boundary, by number of digits.

    These limits are the errors of the C++ package. On other boundaries, and at other numbers of
    digits, the limit is ``10**(1 - digits)``.
    """

    @property
    def error_name(self) -> str:
        """Return the name of vcjax's error in the results of a case's check."""
        return f"{self.name}error_relative"

    def checked_error(self, problem: Problem, result: Any) -> float:
        """Return the error of a result; raise `WrongAnswer` if the error is too large or NaN."""
        error = self.error(problem, result)
        limit = 10.0 ** (1 - problem.digits)
        if problem.name == "w7x":
            limit = self.w7x_limits.get(problem.digits, limit)
        if not error <= limit:
            raise WrongAnswer(
                f"{problem.name} at {problem.digits} digits: {self.error_name} is {error:.2e}; "
                f"the limit is {limit:.2e}"
            )
        return error


FIELD = Quantity(
    name="",
    gradient=False,
    tables=vcjax.tables,
    prepare=vcjax.prepare,
    evaluate=vcjax.external_field,
    reference_method="compute_external_B",
    error=Problem.external_error,
    w7x_limits={3: 1.9e-4, 6: 2.2e-7, 9: 8.6e-10, 12: 1.5e-11},
)

GRADIENT = Quantity(
    name="gradient_",
    gradient=True,
    tables=vcjax.gradient_tables,
    prepare=vcjax.prepare_gradient,
    evaluate=vcjax.external_gradient,
    reference_method="compute_external_gradB",
    error=Problem.external_gradient_error,
    w7x_limits={3: 1.2e-2, 6: 7.2e-6, 9: 8.8e-8, 12: 2.3e-9},
)
