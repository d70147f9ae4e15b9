"""Measure the quantities of a function when they are first used, and explain their values.

The pytest fixture ``jaxmeter`` returns a `Metered`. The class itself does not need pytest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax

from jaxmeter._capture.audit import audit
from jaxmeter._measure.case import Case, name_of
from jaxmeter._measure.counts import Events, listening
from jaxmeter._measure.meter import measure
from jaxmeter._measure.phases import fresh_arguments
from jaxmeter._measure.staging import fresh, prepared
from jaxmeter._pytest.quantities import QUANTITIES, Quantity
from jaxmeter._records.audit import Audit
from jaxmeter._records.lock import LOCKED
from jaxmeter._records.record import Record
from jaxmeter._render.terminal import table
from jaxmeter._retrace.signatures import Signature, causes
from jaxmeter._retrace.static import call_signature
from jaxmeter.errors import JaxmeterError, RetraceError


class Metered:
    """A function with the `QUANTITIES` as attributes, such as ``captured_bytes`` and ``flops``.

    Each quantity is measured when it is first used. To measure the quantities of captured arrays,
    the function is only traced and lowered. To measure any other quantity, the function is also
    compiled and run. If the function is already jitted, its cache is cleared first, so that its
    trace is counted. ``after_call`` is called with this object after each call of `again`.
    """

    def __init__(self, case: Case, after_call: Callable[[Metered], None] | None = None) -> None:
        self.name = name_of(case.fn)
        self._case = case = prepared(case)
        self._after_call = after_call
        self._jitted, self._counter = fresh(case)
        self._traces_count = self._compiles_count = 0
        self._retrace: RetraceError | None = None
        self._earlier = [self._signature(case.args, case.kwargs)]
        self._causes: dict[str, None] = {}

    def __getattr__(self, name: str) -> Quantity:
        if name in QUANTITIES:
            return self.quantity(name)
        known = vars(type(self)).get(name)
        if known is not None:  # a property raised an AttributeError, which Python dropped
            return known.__get__(self, type(self))
        raise AttributeError(
            f"jaxmeter: got the unknown name {name!r}; use audit, record, again(...) or one of the "
            f"quantities {', '.join(QUANTITIES)}"
        )

    def __repr__(self) -> str:
        return f"<jaxmeter of {self.name}>"

    @functools.cached_property
    def audit(self) -> Audit:
        """The audit of the captured arrays."""
        if self._counter is None:
            with listening(Events()) as events:  # count the trace; `audit` does not
                self._jitted.trace(*self._case.args, **self._case.kwargs)
            self._add_counts(events)
        return audit(self._case)

    @functools.cached_property
    def record(self) -> Record:
        """The record of the first calls of the function."""
        if self._retrace is not None:
            raise self._retrace
        leaves = jax.tree.leaves((self._case.args, dict(self._case.kwargs)))
        if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves):
            audited = [name for name, quantity in QUANTITIES.items() if quantity.section == "audit"]
            raise JaxmeterError(
                f"jaxmeter: got a jax.ShapeDtypeStruct among the arguments of {self.name}, but "
                f"only {', '.join(audited)} can be measured without a run of the function; give "
                "arrays, or use only these quantities and set all other budgets to None"
            )
        case = Case(self._jitted, self._case.args, self._case.kwargs)
        with listening(Events()) as events:
            try:
                record = measure(case, repeat=1, name=self.name)
            except RetraceError as error:
                self._retrace = error
                self._add_counts(events)
                raise
        counts = record.counts
        self._traces_count += counts.traces_count or 0
        self._compiles_count += (counts.compiles_count or 0) + (counts.cache_hits_count or 0)
        return record

    def again(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function again, and return its answer. The call may retrace the function.

        If the function donates arguments, it gets copies of the arrays.
        """
        self._measured()
        now = self._signature(args, kwargs)
        with listening(Events()) as events:
            lowered = self._jitted.trace(*args, **kwargs).lower()
            args, kwargs = fresh_arguments(lowered, args, kwargs)()
            answer = self._jitted(*args, **kwargs)
        self._add_counts(events)
        if events.traced:
            found = causes(now, self._earlier)[1]
            self._causes |= dict.fromkeys(f"{cause}: {cause.suggestion}" for cause in found)
        self._earlier.append(now)
        if self._after_call is not None:
            self._after_call(self)
        return answer

    def quantity(self, name: str) -> Quantity:
        """Return a quantity by its name in `QUANTITIES`."""
        described = QUANTITIES[name]
        if described.section:
            source = self if described.section == "audit" else self.record
            value = getattr(getattr(source, described.section), name)
        else:
            self._measured()
            traces = self._traces_count if self._counter is None else self._counter.count
            value = {"traces": traces, "compiles": self._compiles_count}[name]
        if value is None:
            raise JaxmeterError(
                f"jaxmeter: got no {name} of {self.name}: JAX {jax.__version__} on "
                f"{jax.default_backend()} does not report this quantity; use "
                f"another quantity, and remove any budget for {name}"
            )
        return Quantity(int(value), name, functools.partial(self._explain, name), self.name)

    def locked(self) -> dict[str, int]:
        """Return the quantities for the lock file, without quantities that this version of JAX does
        not report on this backend."""
        record = self._measured()
        sections = (record.constants, record.program, record.memory)
        found = {
            name: getattr(part, name) for part in sections for name in LOCKED if hasattr(part, name)
        }
        counts = {name: int(self.quantity(name)) for name in ("traces", "compiles")}
        return counts | {name: value for name, value in found.items() if value is not None}

    def _explain(self, name: str) -> str:
        described = QUANTITIES[name]
        if described.section == "audit":
            # Show arrays of any size, because small arrays may exceed a limit too.
            return table(audit(self._case, threshold_bytes=0))
        if name in ("traces", "compiles"):
            return str(self._retrace or "\n".join(self._causes) or described.advice)
        return f"{described.advice}\n{table(self.record)}"

    def _signature(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Signature:
        return call_signature(self._jitted, self._case.fn, args, kwargs)

    def _measured(self) -> Record:
        """Return the record, also if a run retraced the function.

        A retrace is not an error here: it is counted, and `_explain` shows its message.
        """
        try:
            return self.record
        except RetraceError as error:
            return error.record

    def _add_counts(self, events: Events) -> None:
        """Add the traces and compiles of the outermost function to the counts.

        The last trace in ``events`` is a trace of the outermost function. A program from the
        persistent cache counts as a compile.
        """
        name = events.traced[-1] if events.traced else getattr(self._jitted, "__name__", self.name)
        self._traces_count += events.traced.count(name)
        self._compiles_count += (events.compiled + events.cache_hits).count(f"jit({name})")
