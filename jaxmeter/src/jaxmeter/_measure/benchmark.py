"""Define a benchmark case: plain data that describes a measurement in one worker process."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Annotated, ClassVar

from msgspec import Meta

from jaxmeter._measure.targets import TARGET_FORM, is_target
from jaxmeter._records.plain_data import FrozenDict, PlainData, check_fields
from jaxmeter._records.record import Scalar
from jaxmeter.errors import JaxmeterError

Identifier = Annotated[str, Meta(pattern=r"^[^\W\d]\w*$")]
Count = Annotated[int, Meta(ge=1)]
Limit = Annotated[float, Meta(gt=0)] | None
Timeout = Annotated[float, Meta(gt=0, le=1e9)]


@dataclass(frozen=True)
class BenchmarkCase(PlainData):
    """A measurement to make in a fresh process.

    Parameters
    ----------
    name : str
        Name of the record, such as ``casing_variants/w7x-closure-d6``.
    target : str
        ``package.module:function`` or ``file.py:function``. The worker imports this function and
        calls ``function(**params)``, which must return a `jaxmeter.Case`. The target should not
        call the function to be measured: such a call would compile the function too early.
    params : dict
        Keyword arguments of the target: strings, finite numbers, booleans or None.
    repeat : int
        The number of steady-state samples.
    max_seconds : float or None
        Stop sampling when the samples together took more seconds than this limit, but not before
        the third sample.
    compiles : int
        How often to trace, lower and compile the program: once before it runs, and the other times
        after the steady-state runs. A single compile time varies between processes; several
        compiles in one process reduce this variation.
    profile_compile : bool
        Whether to profile one more compile at the end, for `Record.compile_summary`.
    timeout_seconds : float
        Time limit for the whole worker process. After this time, the worker and its children are
        killed.
    env : dict
        Environment variables of the worker. They override the variables of this process. By
        default, JAX_ENABLE_COMPILATION_CACHE is false in workers, so the persistent compilation
        cache is off.
    path : tuple of str
        Entries to put in front of the worker's ``sys.path``. The current directory is not added
        automatically.
    cpus : tuple of int or None
        The CPUs to bind the worker to. On a system that cannot bind a process, the measurement
        fails.

    Raises
    ------
    JaxmeterError
        If a field has the wrong type or an invalid value.
    """

    name: Annotated[str, Meta(min_length=1)]
    target: str
    params: dict[Identifier, Scalar] = FrozenDict()
    repeat: Count = 20
    max_seconds: Limit = None
    compiles: Count = 1
    profile_compile: bool = False
    timeout_seconds: Timeout = 600.0
    env: dict[str, str] = FrozenDict()
    path: tuple[str, ...] = ()
    cpus: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1)] | None = None

    unreadable_advice: ClassVar[str] = (
        "give an object with the fields of jaxmeter.BenchmarkCase, such as "
        '{"name": "mine", "target": "package.module:function"}'
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if not is_target(self.target):
            raise JaxmeterError(f"BenchmarkCase: got target={self.target!r}; give {TARGET_FORM}")
        if any(isinstance(value, float) and not isfinite(value) for value in self.params.values()):
            raise JaxmeterError(f"BenchmarkCase: got params={self.params!r}; give finite numbers")
