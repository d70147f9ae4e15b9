"""Define audits of captured arrays, and calibrations of their cost, as immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.plain_data import Result
from jaxmeter._records.record import ConstantArray

DEFAULT_THRESHOLD_BYTES = 1_000_000
"""A variable is fine to embed if its arrays add at most this many bytes to a program. An array
that is embedded twice counts twice.

Tables, masks and quadrature rules usually have fewer bytes. Embedding costs time and memory in
proportion to the bytes, because lowering and compiling copy each constant several times. The
compiler also evaluates operations that have only constants as operands, and this is slow.
"""

MEGABYTE_BYTES = 1_000_000

Match = Literal["same", "view", "equal", "unknown"]
Verdict = Literal["fine", "large"]


@dataclass(frozen=True)
class Use:
    """A source line that uses a captured array."""

    file: str
    line: int
    function: str
    text: str
    """The text of the line, without surrounding spaces."""
    how: Literal["used", "returned"] = "used"
    """``returned`` if the function returns the array without computing with it. The line is then
    the definition of the function. Otherwise ``used``."""
    within: str = ""
    """If the line calls an installed package, the ``file:line`` in this package that uses the
    array; otherwise empty."""


@dataclass(frozen=True)
class AuditedArray(ConstantArray):
    """A captured array: the fields of `ConstantArray`, and the array's path, uses and verdict."""

    path: str
    """The variable that holds the array: a Python expression such as
    ``optical_path.coronagraph.cube``, or a description such as ``default of scale``; empty if
    the variable is not known."""
    match: Match
    """The relation of the captured array to the array at the path. ``same``: the same array.
    ``view``: a view of the array at the path. ``equal``: another array with equal values, perhaps
    after a conversion. ``unknown``: no variable with the array was found. The function made the
    array while it was traced, or an object that jaxmeter does not search holds the array."""
    argument: str
    """The variable at the start of the path, such as ``optical_path``: pass it as an argument
    instead of capturing it. If the array is in a static part of an argument, the name of this
    argument. Empty if the variable is not known."""
    uses: tuple[Use, ...]
    embedded_count: int
    """How often the array is a constant of the program. 0 if no result depends on the array, if JAX
    passes the array as a hidden argument, or if JAX embeds a single element, because all elements
    are equal."""
    hidden_count: int
    """How often JAX passes the array as a hidden argument; above 0 only if
    JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS is set."""
    verdict: Verdict
    suggestion: str
    """The suggested change; empty if the array is fine. If a suggested jit has an option such as
    ``out_shardings=...``, the dots stand for the value in the original jit."""
    repeats_count: int = 1
    """How often the array repeats the elements that JAX embeds. It is above 1 only if
    `numpy.broadcast_to` made the array from a smaller array: JAX then embeds the smaller array."""

    @property
    def embedded_bytes(self) -> int:
        """The bytes of all constants that the array is embedded as."""
        return self.bytes // self.repeats_count * self.embedded_count


@dataclass(frozen=True)
class Folding:
    """An operation that depends only on embedded arrays. The compiler may evaluate such an
    operation in every compile. This is called constant folding."""

    operation: str
    """The name of the operation, such as ``sort``, ``cumsum`` or ``dot_general``."""
    shape: str
    """The type of the first operand, such as ``float32[64, 3]``."""
    seconds: float
    """The estimated time that the operation adds to every compile. Only the order of magnitude is
    reliable."""
    uses: tuple[Use, ...]
    """The line of the operation; empty if the line is not known."""


@dataclass(frozen=True)
class Audit(Result):
    """All arrays that a function captured. The array with the most bytes is first. If an array is
    embedded twice, its bytes count twice."""

    derived = ("other_bytes", "verdict", "suggestions")

    name: str
    """The name of the function."""
    threshold_bytes: int
    arrays: tuple[AuditedArray, ...]
    captured_bytes: int
    embedded_bytes: int
    """The bytes of all occurrences of constants, including tables that JAX itself adds. Constants
    whose elements are all equal are left out."""
    embedded_count: int
    hidden_argument_bytes: int | None
    """The bytes of all hidden arguments; None if this version of JAX does not report them."""
    jax: str
    """The version of JAX, on which embedding depends."""
    embedding_seconds: float | None = None
    """The seconds that the embedded bytes add to every compile, without the time of constant
    folding. The seconds are estimated with the calibration of this machine (`jaxmeter.calibrate`).
    None if there is no calibration."""
    foldings: tuple[Folding, ...] = ()
    """The operations that the compiler may evaluate (constant folding), the slowest first.
    Operations with an estimated time below 0.5 s are left out."""

    @property
    def other_bytes(self) -> int:
        """The embedded bytes that belong to no captured array, such as the constants of a program
        from `jax.export`, and the tables that JAX itself adds."""
        return self.embedded_bytes - sum(one.embedded_bytes for one in self.arrays)

    @property
    def verdict(self) -> Literal["fine", "large", "slow"]:
        """``large`` if any array has the verdict ``large``, or if `other_bytes` is above the
        threshold; else ``slow`` if constant folding is slow; else ``fine``."""
        if self.other_bytes > self.threshold_bytes or any(
            array.verdict == "large" for array in self.arrays
        ):
            return "large"
        return "slow" if self.foldings else "fine"

    @property
    def suggestions(self) -> tuple[str, ...]:
        """The suggested changes without repetition: first for slow constant folding, then for large
        arrays, then for large constants that belong to no captured array."""
        folded = (
            f"compute {folding.operation} of {folding.shape} once, before the call, and pass the "
            "result as an argument: every compile evaluates this operation, which takes roughly "
            f"{folding.seconds:g} s"
            for folding in self.foldings
        )
        embedded = (array.suggestion for array in self.arrays if array.suggestion)
        others = (
            "find the constants that belong to no captured array, for example in a program from "
            "jax.export, and pass their arrays as arguments of that program: "
            f"{self.other_bytes / MEGABYTE_BYTES:.4g} MB are embedded in the program"
        )
        is_large = self.other_bytes > self.threshold_bytes
        return tuple(dict.fromkeys((*folded, *embedded, *is_large * [others])))


@dataclass(frozen=True)
class Calibration(Result):
    """The cost of embedding: seconds of lowering and compiling for each embedded megabyte (1e6
    bytes)."""

    seconds_per_megabyte: float
    jax: str
    backend: str
    device_kind: str
    cpu_model: str
    """The model of the processor; the name of the host if the model is not known."""
    measured_utc: str
    samples_seconds_per_megabyte: tuple[float, ...] = ()
    """The seconds per megabyte of each round, in order. The median is ``seconds_per_megabyte``."""

    def seconds(self, size_bytes: float) -> float:
        """Return the seconds that embedding ``size_bytes`` adds to every compile."""
        return self.seconds_per_megabyte * size_bytes / MEGABYTE_BYTES
