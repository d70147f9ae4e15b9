"""What the study's numbers say, in sentences; every number in them is computed."""

import math
import statistics
from typing import Any

import pandas as pd

from jaxmeter import MIN_VALUES_COUNT

from ..document.words import counted, ratio_range, ratio_words, too_few
from ..frames import groups, rows
from ..units import bytes_, ratio, scientific, seconds, significant
from . import published
from .summaries import ARGUMENT, slope

NOTHING = "Nothing of this was measured."
# Of the time that a program takes to build: what nobody notices.
NOTICED = 0.1


def at(table: pd.DataFrame, size: float, variant: str) -> Any | None:
    """The row of a size and variant; None where there is none."""
    found = table.loc[(table["size"] == size) & (table["variant"] == variant)]
    return None if found.empty else found.iloc[0]


def compared(row: Any, stem: str) -> str:
    """`2.41× (2.3 to 2.6, 6 pairs)`, a ratio to the argument variant."""
    name = f"{stem}_to_argument"
    return "not compared" if math.isnan(row[f"{name}_ratio"]) else ratio_range(row, name)


def lead(table: pd.DataFrame) -> str:
    """What closing over cost at the largest size at which both were measured."""
    for size in sorted(set(table["size"]), reverse=True):
        closure, argument = at(table, size, "closure"), at(table, size, ARGUMENT)
        if closure is not None and argument is not None:
            return (
                f"At N = {int(size)}, closing over {bytes_(float(closure['captured_bytes']))} "
                f"makes trace, lower and compile take {compared(closure, 'built')} as long as "
                f"passing it: {seconds(closure['built_median_seconds'])} against "
                f"{seconds(argument['built_median_seconds'])}. {_steady_sentence(closure)}"
            )
    return NOTHING


def _steady_sentence(closure: Any) -> str:
    said = ratio_words(closure, "steady_to_argument", "the steady-state run")
    return f"{said[0].upper()}{said[1:]}."


def variant_findings(table: pd.DataFrame) -> list[str]:
    """Captured bytes to the byte, and each other variant beside the argument one."""
    said = []
    for row in rows(table.loc[table["variant"] == "closure"]):
        argument = at(table, row["size"], ARGUMENT)
        own = 0 if argument is None else int(argument["captured_bytes"])
        more = int(row["captured_bytes"]) - own - int(row["system_bytes"])
        tail = "to the byte" if more == 0 else f"and {more} bytes besides"
        said.append(
            f"N = {int(row['size'])}: the closure captures {int(row['captured_bytes']):,} bytes, "
            f"all arrays of the system {tail} (cube {int(row['cube_bytes']):,}), and {own} bytes "
            "of tables that JAX's random numbers bring into every variant."
        )
    for size in sorted(set(table["size"])):
        parts = [
            f"{name.replace('_', ' ')} {compared(row, 'built')}"
            for name in ("closure", "simplified", "hoisted", "cached", "static_callable")
            if (row := at(table, size, name)) is not None
        ]
        if parts:
            said.append(
                f"N = {int(size)}, trace, lower and compile beside the argument variant: "
                f"{'; '.join(parts)}."
            )
        said += _steady(table, size)
    return said + _doubt(table)


def _doubt(table: pd.DataFrame) -> list[str]:
    """That some cases have too few processes, where they have."""
    few = min((int(row["processes_count"]) for row in rows(table)), default=MIN_VALUES_COUNT)
    return [too_few(few)] if few < MIN_VALUES_COUNT else []


def _steady(table: pd.DataFrame, size: float) -> list[str]:
    """Whether steady-state runs of closure and argument differ; if so, how their programs do."""
    closure, argument = at(table, size, "closure"), at(table, size, ARGUMENT)
    if closure is None or argument is None:
        return []
    said = f"N = {int(size)}: {_steady_sentence(closure)}"
    low, high = (closure[f"steady_to_argument_{end}_ratio"] for end in ("low", "high"))
    if low <= 1 <= high or math.isnan(low):
        return [said]
    counts = [
        f"{name} {int(row['hlo_instructions_count'])} instructions in "
        f"{int(row['fusions_count'])} fusions"
        for name, row in (("closure", closure), (ARGUMENT, argument))
        if not pd.isna(row["hlo_instructions_count"])
    ]
    return [f"{said} Their programs: {'; '.join(counts)}." if counts else said]


def spread_lead(table: pd.DataFrame) -> str:
    """What the first call does to a standard deviation."""
    parts = []
    largest = max(table["size"], default=math.nan)
    for variant in ("closure", ARGUMENT):
        row = at(table, largest, variant)
        if row is not None and not math.isnan(row["naive_std_median_seconds"]):
            first = row["first_call_median_seconds"] / row["steady_median_seconds"]
            parts.append(
                f"{variant} {seconds(row['naive_std_median_seconds'])} counting from the first "
                f"call, which takes {ratio(first)} the steady-state run, and "
                f"{seconds(row['steady_std_median_seconds'])} once steady"
            )
    if not parts:
        return NOTHING
    return f"At N = {int(largest)}, the standard deviation of 20 runs: {'; '.join(parts)}."


def script_findings(calls: pd.DataFrame) -> list[str]:
    """The spread of calls timed as a script does, of one size, and what makes it."""
    said = []
    for variant in ("closure", ARGUMENT):
        stds, steady, firsts = [], [], []
        for _, one in groups(calls.loc[calls["variant"] == variant], ["round_index"]):
            taken = list(one.sort_values("run")["seconds"])[1:]
            if len(taken) > 4:
                stds.append(statistics.stdev(taken))
                steady.append(statistics.stdev(taken[2:]))
                firsts.append(taken[0] / statistics.median(taken))
        if stds:
            said.append(
                f"{variant.capitalize()}, timed as a script does "
                f"(N = {max(calls['size']):.0f}, {counted(len(stds), 'process')}): "
                f"standard deviation {seconds(statistics.median(stds))} over the calls right after "
                f"the one that compiles, {seconds(statistics.median(steady))} without the first "
                f"two; the first takes {ratio(statistics.median(firsts))} the median."
            )
    return said


SPREAD = (
    "One run that takes d longer than the others lifts the standard deviation of n runs by about "
    "d / √n: 28 ms in one of twenty runs make the published 6.2 ms, and the median stays where it "
    "was. The first call after compiling can be such a run: JAX sets up its fast path in it, and "
    "it is the first to touch the memory of its results. It belongs to the start, and a "
    "spread that is to tell something about the program leaves it out. The drawings show whether "
    "it was so here.",
)


def slope_lead(points: pd.DataFrame, large: pd.DataFrame) -> str:
    """Milliseconds for each megabyte."""
    if large.empty:
        return NOTHING
    fitted = slope(zip(large["extra_bytes"], large["extra_seconds"], strict=True))
    if fitted <= 0:
        return "What embedding costs does not show above the noise of compiling."
    return (
        f"Each megabyte that is embedded adds {significant(1e3 * fitted)} ms to trace, lower and "
        f"compile here ({len(large)} of {len(points)} cases, those above 1 MB; published: "
        f"{significant(1e3 * published.seconds_per_megabyte())} ms)."
    )


def equality_lead(table: pd.DataFrame) -> str:
    """Largest difference of any variant's rates, and of the counts drawn from them."""
    checked = [row for row in rows(table) if not pd.isna(row["rate_difference_relative"])]
    if not checked:
        return NOTHING
    row = max(checked, key=lambda row: row["rate_difference_relative"])
    pixels = max(row["differing_pixels_count"] / row["size"] ** 2 for row in checked)
    return (
        f"Rate maps of all variants agree within {scientific(row['rate_difference_relative'])} of "
        f"their maximum (the most: {row['variant']}, N = {int(row['size'])}; a case beyond 1e−5 "
        "has failed). Of the counts drawn from them with the same key, at most "
        f"{100 * pixels:.2g} % of the pixels differ: where a rate changes in its last digit, so "
        "may a random draw."
    )


def change_lead(table: pd.DataFrame) -> str:
    """Recompiles of closure and argument."""
    if table.empty:
        return NOTHING
    parts = []
    for variant in ("closure", ARGUMENT):
        found = table.loc[table["variant"] == variant]
        if len(found):
            row = found.loc[found["size"].idxmax()]
            count = int(row["change_compiles_count"])
            times = "no program is" if count == 0 else f"{count} program{'s are' * (count > 1)}"
            tail = "" if count == 0 else ("" if count > 1 else " is")
            parts.append(
                f"{variant}: {times}{tail} compiled, the next frame is there after "
                f"{seconds(row['change_median_seconds'])} (N = {int(row['size'])})"
            )
    return f"The cube changes. {'; '.join(parts)}."


def curve_lead(curve: pd.DataFrame, typical: float) -> str:
    """The rule: up to which size a capture is fine.

    Parameters
    ----------
    curve : DataFrame
        Of one environment.
    typical : float
        Seconds that the study's own program takes to build with everything as an argument.
    """
    alone = curve.loc[(curve["operation"] == "none") & (curve["array_bytes"] >= 1e6)]
    fitted = slope(zip(alone["array_bytes"], alone["extra_median_seconds"], strict=True))
    if math.isnan(fitted) or fitted <= 0:
        return NOTHING
    sentence = (
        f"An array alone costs {significant(1e3 * fitted)} ms of every compile for each megabyte "
        "it has"
    )
    if not math.isnan(typical):
        limit = NOTICED * typical / fitted * 1e6
        sentence += (
            f"; a program that takes {seconds(typical)} to build, as the frame does at the "
            f"smallest size, has a tenth more at {bytes_(limit)}: below that, and where the array "
            "never changes, closing over it is fine"
        )
    return f"{sentence}."


def curve_findings(curve: pd.DataFrame) -> list[str]:
    """From which size on each operation costs a tenth of a second, and what the largest cost."""
    said = []
    for operation, name in (
        ("none", "The array alone"),
        ("exp", "Its exp"),
        ("cumsum", "Its cumulative sum"),
    ):
        points = [
            (row["array_bytes"], row["extra_median_seconds"])
            for row in rows(curve.loc[curve["operation"] == operation])
            if not math.isnan(row["extra_median_seconds"])
        ]
        if not points:
            continue
        largest, cost = points[-1]
        sentence = f"{name}: {seconds(max(cost, 0.0))} more at {bytes_(largest)}"
        noticed = [n for n, _ in points if all(s > 0.1 for m, s in points if m >= n)]
        if noticed:
            sentence += f"; above a tenth of a second from {bytes_(noticed[0])} on"
        fitted = slope([point for point in points if point[0] >= 1e6])
        if operation != "none" and fitted > 0:
            sentence += f"; {significant(1e3 * fitted)} ms a megabyte from 1 MB on"
        said.append(sentence + ".")
    said += _doubt(curve)
    said.append(
        "The rule has three parts: embed what is small (numbers above), never what changes, and "
        "nothing on which the program computes before it meets an argument, since the compiler "
        "then does that itself, in every compile."
    )
    return said
