"""The page of the tile size study, and the tables of docs/chunks.md from its committed rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxmeter import Environment
from studies.chunks.tables import ADVICE_COLUMNS, COLUMNS
from studies.harness import Row, measured, read_rows, table

NAMES = {"B": "The field on the surface", "BOFF": "The field off it", "GRADB": "The gradient"}


def page(sizes: Sequence[Row], advice: Sequence[Row], where: Environment, case: str) -> str:
    """Return the recommendations, how far "auto" is from them, and a map of each operator."""
    parts = [
        "# Tile sizes\n",
        f"`python -m studies chunks --case {case}` on {where.cpus_available} cores of "
        f"{where.cpu_model}, JAX {where.jax}. Times are ratios within processes; docs/chunks.md "
        "describes the columns of the tables.\n",
        advice_table(advice),
        f"```\n{variables(advice)}```\n",
    ]
    for operator in dict.fromkeys(row["operator"] for row in sizes):
        parts += [
            f"## {NAMES[operator]}\n",
            f"`{operator}`: time over that of the fastest, sources down, targets across; the "
            'recommendation in bold, "auto" in italics.\n',
            map_table(row for row in sizes if row["operator"] == operator),
        ]
    return "\n".join(parts)


def variables(advice: Iterable[Row]) -> str:
    """Return the variables to set, as a text that a shell reads."""
    lines = ["# Tile sizes of vcjax that `python -m studies chunks` found best on this machine."]
    for row in advice:
        name = f"VCJAX_CHUNK_{row['operator']}"
        lines.append(f"export {name}_SRC={row['chunk_size']}")
        lines.append(f"export {name}_TRG={row['target_chunk_size']}")
    return "\n".join(lines) + "\n"


def advice_table(advice: Iterable[Row]) -> str:
    """Return the recommendation of each operator, and "auto"."""
    header = ("sources, targets", "time over the best", "held out", "auto over the best")
    lines = []
    for row in advice:
        names = ("ratio_to_best", "held_out_ratio_to_best", "auto_ratio_to_best")
        ratios = [_shown(row[name], "{:.3f}") for name in names]
        temporaries = [_shown(row[name], "{:.1f} MB", 1e-6) for name in ADVICE_TEMPORARIES]
        sizes = f"{row['chunk_size']}, {row['target_chunk_size']}"
        lines.append((row["operator"], sizes, *ratios, *temporaries))
    return table(("operator", *header, "temporaries", "of auto"), lines)


ADVICE_TEMPORARIES = ("temp_bytes", "auto_temp_bytes")


def map_table(sizes: Iterable[Row]) -> str:
    """Return the ratios to the fastest of one operator, by sources and targets."""
    rows = {(int(row["chunk_size"]), int(row["target_chunk_size"])): row for row in sizes}
    across = sorted({targets for _, targets in rows})
    lines = [
        (sources, *(_marked(rows.get((sources, targets))) for targets in across))
        for sources in sorted({sources for sources, _ in rows})
    ]
    return table(("", *map(str, across)), lines)


def _marked(row: Row | None) -> str:
    if row is None:
        return ""
    recommended, auto = (str(row[name]) == "True" for name in ("is_recommended", "is_auto"))
    sign = "**" * recommended + "*" * auto
    return f"{sign}{_shown(row['ratio_to_best'], '{:.3f}')}{sign}"


def _shown(value: float | str | None, template: str, factor: float = 1.0) -> str:
    return "" if value in (None, "") else template.format(factor * float(value))


def _map(operator: str) -> str:
    rows = read_rows(measured("chunks", "sizes.csv"))
    return map_table(row for row in rows if row["operator"] == operator)


def _columns(columns: dict[str, str]) -> str:
    return table(
        ("column", "meaning"), [(f"`{name}`", text) for name, text in columns.items()], left=2
    )


TABLES = {
    "chunks advice": lambda: advice_table(read_rows(measured("chunks", "advice.csv"))),
    "chunks map B": lambda: _map("B"),
    "chunks map BOFF": lambda: _map("BOFF"),
    "chunks map GRADB": lambda: _map("GRADB"),
    "chunks columns": lambda: _columns(COLUMNS),
    "chunks advice columns": lambda: _columns(ADVICE_COLUMNS),
}
