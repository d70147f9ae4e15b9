"""Write numbers as text, most of them with three significant digits and a unit.

The times in a column share one unit, so that rows are easy to compare. A time that would need many
zeros or digits in this unit gets its own unit. Bytes span too many powers of ten to share a unit,
so each number of bytes gets its own unit.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

MISSING = "–"


@dataclass(frozen=True)
class Unit:
    """A unit of printed numbers: the value in the base unit is the number times `factor`."""

    name: str
    factor: float


SECONDS = (Unit("s", 1.0), Unit("ms", 1e-3), Unit("µs", 1e-6))
BYTES = (Unit("GB", 1e9), Unit("MB", 1e6), Unit("kB", 1e3), Unit("B", 1.0))
RATIOS = (Unit("×", 1.0),)


def unit_for(values: Iterable[float], units: tuple[Unit, ...]) -> Unit:
    """Return the largest unit in which the median of `values` is at least 1, else the smallest.

    Signs, zeros and values that are not finite are ignored. If the number of values is even, the
    upper of the two middle values is used. If no value remains, return the largest unit.
    """
    numbers = sorted(abs(v) for v in values if v and math.isfinite(v))
    if not numbers:
        return units[0]
    middle = numbers[len(numbers) // 2]
    return next((unit for unit in units if middle >= unit.factor), units[-1])


def own_unit(value: float, shared: Unit, units: tuple[Unit, ...]) -> Unit:
    """Return the unit of one value in a column; `shared` is the common unit of the column.

    A number of bytes gets its own unit. Any other value gets its own unit if it is not 0 and its
    magnitude in `shared` is below 0.1 or at least 10000.
    """
    size = abs(value) / shared.factor
    if units is BYTES:
        return unit_for([value], units) if value else BYTES[-1]
    return shared if value == 0 or 0.1 <= size < 1e4 else unit_for([value], units)


def significant(value: float, digits: int = 3) -> str:
    """Return a number with `digits` significant digits and no exponent: 0.0123 or 1340."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # of the rounded number
    decimals = digits - 1 - exponent
    return f"{round(value, decimals):.{max(decimals, 0)}f}".replace("-", "−")


def in_unit(value: float, unit: Unit) -> str:
    """Return a value in `unit` as text, without the unit's name.

    If the unit is the byte, a whole number is written as an integer. All other values have three
    significant digits.
    """
    if unit.name == "B" and value == round(value):
        return f"{value:.0f}"
    return significant(value / unit.factor)


def seconds(value: float) -> str:
    return _with_unit(value, SECONDS)


def bytes_(value: float) -> str:
    return _with_unit(value, BYTES)


def ratio(value: float) -> str:
    return MISSING if math.isnan(value) else f"{significant(value)}×"


def scientific(value: float) -> str:
    """Return an error with two significant digits and an exponent: 1.3e-07 becomes 1.3e−7."""
    if math.isnan(value):
        return "NaN"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    # Use a minus sign, because a line may break after a hyphen.
    return f"{mantissa}e{int(exponent)}".replace("-", "−") if exponent else mantissa


FORMATS = {
    "seconds": seconds,
    "bytes": bytes_,
    "relative": scientific,
    "count": lambda value: f"{value:,.0f}".replace(",", "\u2009"),
}
"""For each unit of a metric, the function that writes a value as text."""


def difference(before: float, after: float, unit: str) -> str:
    """Return a difference with its sign, such as +1.20 MB or −3; `unit` is a key of `FORMATS`."""
    return f"{'+' if after > before else '−'}{FORMATS[unit](abs(after - before))}"


def change(before: float, after: float, unit: str, *, is_exact: bool) -> str:
    """Return a change as the ratio after/before, or as a difference.

    The difference replaces the ratio if `before` is 0, or if the ratio of an exact metric rounds to
    1.00. `unit` is a key of `FORMATS`.
    """
    if before and not (is_exact and abs(after / before - 1) < 0.005):
        return f"{significant(after / before)}×"
    return difference(before, after, unit)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, which is in the plural unless the number is 1: `2 cases`."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def listed(names: Iterable[str], most: int) -> str:
    """Return the first `most` different names and the number of the others: `a, b and 2 others`."""
    shown = list(dict.fromkeys(names))
    more = len(shown) - most
    others = f" and {counted(more, 'other')}" if more > 0 else ""
    return f"{', '.join(shown[:most])}{others}"


def _with_unit(value: float, units: tuple[Unit, ...]) -> str:
    if math.isnan(value):
        return MISSING
    unit = unit_for([value], units) if value else next(u for u in units if u.factor == 1.0)
    return f"{in_unit(value, unit)} {unit.name}"
