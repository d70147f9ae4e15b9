"""A benchmark: what one worker process measures, as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from jaxmeter._measure.targets import is_target
from jaxmeter._records.plain_data import FrozenDict, PlainData
from jaxmeter._records.record import Scalar
from jaxmeter.errors import JaxmeterError


@dataclass(frozen=True)
class BenchmarkCase(PlainData):
    """One measurement to make in a fresh process.

    Parameters
    ----------
    name : str
        The name the record will bear, such as ``casing_variants/w7x-closure-d6``.
    target : str
        ``package.module:function``. The worker imports it and calls ``function(**params)``, which
        returns a `jaxmeter.Case`. It should not call the function to be measured: what was
        compiled before is not measured cold.
    params : dict
        Keyword arguments of the target: strings, finite numbers, booleans, None.
    repeat : int
        The number of steady-state samples.
    max_seconds : float or None
        Stop sampling after this many seconds, though not before 3 samples.
    compiles : int
        How often the program is traced, lowered and compiled: once before it runs, the other times
        after all else. Compilers' times scatter; several in one process scatter less.
    timeout_seconds : float
        Limit for the whole life of the worker, after which it and its children are killed.
    env : dict
        Environment variables set over those of this process. The persistent compilation cache is
        off in workers (JAX_ENABLE_COMPILATION_CACHE=false) unless it is set here.
    path : tuple of str
        Entries put in front of ``sys.path``. The current directory is not on it otherwise.
    cpus : tuple of int or None
        CPUs the worker is bound to, on systems that can.

    Raises
    ------
    JaxmeterError
        If a field does not hold such a value.
    """

    name: str
    target: str
    params: dict[str, Scalar] = FrozenDict()
    repeat: int = 20
    max_seconds: float | None = None
    compiles: int = 1
    timeout_seconds: float = 600.0
    env: dict[str, str] = FrozenDict()
    path: tuple[str, ...] = ()
    cpus: tuple[int, ...] | None = None

    unreadable_advice: ClassVar[str] = (
        "give an object with the fields of jaxmeter.BenchmarkCase, such as "
        '{"name": "mine", "target": "package.module:function"}'
    )

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            _refuse("name", self.name, "a text that is not empty")
        if not isinstance(self.target, str) or not is_target(self.target):
            _refuse("target", self.target, "'package.module:function'")
        if not isinstance(self.params, Mapping):
            _refuse("params", self.params, "a dictionary")
        for key, value in self.params.items():
            if not isinstance(key, str) or not key.isidentifier():
                _refuse("a parameter named", key, "names that are Python identifiers")
            if not isinstance(value, Scalar) or _not_finite(value):
                _refuse(f"params[{key!r}]", value, "a text, a finite number, a boolean or None")
        if not _whole(self.repeat) or self.repeat < 1:
            _refuse("repeat", self.repeat, "a whole number of samples, 1 or more")
        if not _whole(self.compiles) or self.compiles < 1:
            _refuse("compiles", self.compiles, "a whole number, 1 or more")
        if self.max_seconds is not None and not _positive(self.max_seconds):
            _refuse("max_seconds", self.max_seconds, "seconds above 0, or None")
        if not _positive(self.timeout_seconds) or math.isinf(self.timeout_seconds):
            _refuse("timeout_seconds", self.timeout_seconds, "a finite number of seconds above 0")
        if not isinstance(self.env, Mapping) or not all(
            isinstance(text, str) for item in self.env.items() for text in item
        ):
            _refuse("env", self.env, "a dictionary of texts, numbers as '1'")
        if not _sequence(self.path) or not all(isinstance(entry, str) for entry in self.path):
            _refuse("path", self.path, "a tuple of texts")
        object.__setattr__(self, "path", tuple(self.path))
        if self.cpus is not None:
            if not _sequence(self.cpus):
                _refuse("cpus", self.cpus, "a tuple of CPU numbers, or None")
            object.__setattr__(self, "cpus", tuple(self.cpus))
            if not self.cpus or not all(_whole(cpu) and cpu >= 0 for cpu in self.cpus):
                _refuse("cpus", self.cpus, "at least one CPU number, 0 or more, or None")
        super().__post_init__()


def _refuse(field: str, value: Any, wanted: str) -> NoReturn:
    raise JaxmeterError(f"BenchmarkCase: got {field}={value!r}; give {wanted}")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _sequence(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
