"""What every figure of the report is: a title, a caption and panels, and the axis they share.

Bars start at zero and every process is a dot on its bar, so that spread and ratio are both seen.
Colour never stands alone: variants are named at their bars, methods have marks of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .svg import Drawing

LEFT, TOP, BOTTOM = 76.0, 34.0, 40.0


@dataclass(frozen=True)
class Figure:
    """Panels that answer one question, `columns` to a row on a wide page.

    `legend` pairs a style class with what it stands for.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Drawing, ...]
    legend: tuple[tuple[str, str], ...] = ()
    columns: int = 2


def bottom_axis(
    panel: Drawing, ticks: Sequence[tuple[float, str]], title: str, left: float, right: float
) -> None:
    """Ticks (pixel, name) with grid lines, and the axis' title, between both margins."""
    for position, name in ticks:
        panel.line(position, TOP - 6, position, panel.height - BOTTOM, "grid")
        panel.text(position, panel.height - BOTTOM + 16, name, "tick", anchor="middle")
    middle = 0.5 * (left + panel.width - right)
    panel.text(middle, panel.height - 6, title, "axis", anchor="middle")
