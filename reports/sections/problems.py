"""Make the section on failed or skipped processes and unreadable files, with reasons."""

import pandas as pd

from ..document.section import Section
from ..document.table import row_head, table, text


def section(failures: pd.DataFrame) -> Section:
    columns = (
        row_head(
            "Case",
            lambda row: str(row["case"]),
            lambda row: "" if pd.isna(row["round_index"]) else f"round {int(row['round_index'])}",
        ),
        text("Status", "status"),
        text("Phase", "failure_phase"),
        text("Kind", "failure_kind"),
        text("Message", "failure_message"),
    )
    made = table(failures, columns, "failures", "One row for each process or file")
    return Section(
        "problems", "Failed, skipped, unreadable", lead(failures), tables=(made,) * bool(made.rows)
    )


def lead(failures: pd.DataFrame) -> str:
    """Return a sentence that counts the failures by status."""
    if failures.empty:
        return "Nothing failed, and nothing was skipped."
    counts = failures["status"].value_counts().items()
    parts = ", ".join(f"{count} {status}" for status, count in counts)
    return f"Not included in any table above: {parts}."
