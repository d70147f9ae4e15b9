"""A function's quantities, each measured when it is first asked for, each with what to do about it.

This is what the pytest fixture gives; it needs no pytest itself.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax

from jaxmeter._capture.audit import audit
from jaxmeter._measure.case import Case, name_of
from jaxmeter._measure.counts import Events, ExecutionCounter, listening
from jaxmeter._measure.meter import measure
from jaxmeter._measure.staging import jitted
from jaxmeter._pytest.quantities import QUANTITIES, Quantity
from jaxmeter._records.audit import Audit
from jaxmeter._records.record import Record
from jaxmeter._render.terminal import table
from jaxmeter._retrace.signatures import Signature, causes, signature, static_arguments
from jaxmeter.errors import JaxmeterError, RetraceError


class _Measured:
    """An attribute that is measured when it is asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, metered: Metered, owner: type | None = None) -> Quantity:
        return metered.quantity(self.name)


class Metered:
    """What JAX did with a function, quantity by quantity.

    Those of constants need the function to be traced and lowered; all others need it to be
    compiled and run as well, which is done when the first of them is asked for.

    Parameters
    ----------
    case : Case
        The function with its arguments. If it is already jitted its cache is cleared, since what
        was traced before would not be counted.
    after_call : callable, optional
        Called with this after each call of `again`.
    """

    captured_bytes = _Measured()
    embedded_bytes = _Measured()
    embedded_count = _Measured()
    hidden_argument_bytes = _Measured()
    traces = _Measured()
    jaxpr_equations_count = _Measured()
    hlo_instructions_count = _Measured()
    fusions_count = _Measured()
    flops = _Measured()
    accessed_bytes = _Measured()
    argument_bytes = _Measured()
    output_bytes = _Measured()
    temp_bytes = _Measured()

    def __init__(self, case: Case, after_call: Callable[[Metered], None] | None = None) -> None:
        self._case = case
        self._after_call = after_call
        self.name = name_of(case.fn)
        self._counter: ExecutionCounter | None = None
        if isinstance(case.fn, jax.stages.Wrapped):
            clear_cache = getattr(case.fn, "clear_cache", None)  # others than jax.jit may lack it
            if clear_cache is not None:
                clear_cache()
        else:
            self._counter = ExecutionCounter(case.fn)
        self._jitted = jitted(case, self._counter)
        self._heard_count = 0
        self._retrace: RetraceError | None = None
        self._static = static_arguments(getattr(self._jitted, "_jit_info", None))
        self._earlier = [self._signature(case.args, case.kwargs)]
        self._causes: dict[str, None] = {}

    def __getattr__(self, name: str) -> Any:
        known = vars(type(self)).get(name)
        if known is not None:  # it raised an AttributeError of its own, which was lost
            return known.__get__(self, type(self))
        raise AttributeError(
            f"jaxmeter: got no quantity {name!r}; there are {', '.join(QUANTITIES)}; besides, "
            "audit, record and again(...)"
        )

    def __repr__(self) -> str:
        return f"<jaxmeter of {self.name}>"

    @functools.cached_property
    def audit(self) -> Audit:
        """The audit of what it captures."""
        if self._counter is None:
            with listening(Events()) as events:  # or the audit's trace would go uncounted
                self._jitted.trace(*self._case.args, **self._case.kwargs)
            self._heard_count += _traces_count(events)
        return audit(self._case)

    @functools.cached_property
    def record(self) -> Record:
        """The measurement of the first calls.

        Raises
        ------
        RetraceError
            If the function is traced again for the same arguments.
        JaxmeterError
            If an argument is given by its shape alone.
        """
        if self._retrace is not None:
            raise self._retrace
        leaves = jax.tree.leaves((self._case.args, dict(self._case.kwargs)))
        if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves):
            audited = [name for name, told in QUANTITIES.items() if told.section == "audit"]
            raise JaxmeterError(
                f"jaxmeter: got a jax.ShapeDtypeStruct among the arguments of {self.name}, which "
                f"has to be run; give arrays, or ask for {', '.join(audited)} alone, lifting other "
                "budgets with None"
            )
        case = Case(self._jitted, self._case.args, self._case.kwargs)
        with listening(Events()) as events:
            try:
                record = measure(case, repeat=1, name=self.name)
            except RetraceError as error:
                self._retrace = error
                self._heard_count += _traces_count(events)
                raise
        self._heard_count += record.counts.traces_count or 0
        return record

    def again(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function once more, which may trace it again; return its answer."""
        self._run_once()
        known = self._signature(args, kwargs)
        with listening(Events()) as events:
            answer = self._jitted(*args, **kwargs)
        self._heard_count += _traces_count(events)
        if events.traced:
            found = causes(known, self._earlier)[1]
            self._causes |= dict.fromkeys(f"{cause}: {cause.advice}" for cause in found)
        self._earlier.append(known)
        if self._after_call is not None:
            self._after_call(self)
        return answer

    def quantity(self, name: str) -> Quantity:
        """A quantity by its name; see `jaxmeter._pytest.quantities.QUANTITIES`.

        Raises
        ------
        JaxmeterError
            If this JAX does not tell it on this backend.
        """
        described = QUANTITIES[name]
        if name == "traces":
            self._run_once()
            value = self._heard_count if self._counter is None else self._counter.count
        elif described.section == "audit":
            value = getattr(self.audit, described.field)
        else:
            value = getattr(getattr(self.record, described.section), described.field)
        if value is None:
            raise JaxmeterError(
                f"jaxmeter: got no {name} of {self.name}: JAX {jax.__version__} on "
                f"{jax.default_backend()} does not tell it; take another quantity"
            )
        return Quantity(int(value), name, functools.partial(self._explain, name), self.name)

    def _explain(self, name: str) -> str:
        described = QUANTITIES[name]
        if described.section == "audit":
            # Where a limit is exceeded nothing is fine, however small.
            return table(audit(self._case, threshold_bytes=0))
        if name == "traces":
            return str(self._retrace or "\n".join(self._causes) or described.advice)
        return f"{described.advice}\n{table(self.record)}"

    def _signature(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Signature:
        return signature(self._case.fn, args, kwargs, self._static)

    def _run_once(self) -> None:
        # The error will be told where the count is found too high.
        with contextlib.suppress(RetraceError):
            _ = self.record


def _traces_count(events: Events) -> int:
    """Of the outermost function: its event comes last."""
    return events.traced.count(events.traced[-1]) if events.traced else 0
