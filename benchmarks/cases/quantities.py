"""What is computed on a surface, by vcjax and by the C++ package: a field, or its gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import vcjax
from vcjax.problems import Problem


class WrongAnswer(ArithmeticError):
    """A measured program gave a result that is off by more than its digits allow."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """One result of the virtual casing principle and the calls that lead to it.

    Parameters
    ----------
    name : str
        Of the check that holds its error, ahead of ``error_relative``; empty for the field.
    gradient : bool
        What `vcjax.choose` is told.
    tables, prepare, evaluate : callable
        ``tables(rule)``, ``prepare(rule, X, constants=...)`` and ``evaluate(casing, B)``.
    reference_method : str
        The method of the C++ class that evaluates it.
    error : callable
        ``error(problem, result)``, relative to the largest component of the total.
    w7x_limits : mapping
        Digits to the errors of the C++ reference on the W7-X boundary. Beyond these a case has
        failed: a fast wrong answer is no result. Elsewhere the limit is ten times what the digits
        promise.
    """

    name: str
    gradient: bool
    tables: Callable[..., Any]
    prepare: Callable[..., Any]
    evaluate: Callable[..., Any]
    reference_method: str
    error: Callable[[Problem, Any], float]
    w7x_limits: Mapping[int, float] = field(default_factory=dict)

    @property
    def error_name(self) -> str:
        """The check's name for the error of vcjax."""
        return f"{self.name}error_relative"

    def checked_error(self, problem: Problem, result: Any) -> float:
        """The error, refused where it is beyond the limit of the problem's digits.

        Raises
        ------
        WrongAnswer
            Above the limit, or where the result is not finite.
        """
        error = self.error(problem, result)
        limit = 10.0 ** (1 - problem.digits)
        if problem.name == "w7x":
            limit = self.w7x_limits.get(problem.digits, limit)
        if not error <= limit:
            raise WrongAnswer(
                f"{problem.name} at {problem.digits} digits: {self.error_name} {error:.2e}, "
                f"limit {limit:.2e}"
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
