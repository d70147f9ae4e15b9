"""The figure of a review: every tested time as a ratio with its interval."""

from collections.abc import Sequence

from jaxmeter import Criteria

from ..document.section import Figure
from ..document.svg import BOTTOM, TOP, Drawing, linear_scale
from ..units import significant
from .findings import Finding

WIDTH, LEFT, RIGHT, ROW = 720.0, 330.0, 60.0, 22.0
WIDEST = 1.6  # intervals beyond are cut, so that one wild case does not flatten the others


def times_figure(findings: Sequence[Finding], criteria: Criteria) -> Figure:
    """One row a time, head over base; those between the dashed lines count as equal."""
    ordered = sorted(findings, key=lambda f: -abs(f.ratio - 1))[:40]
    widest = max([1.1, *(max(f.high, 1 / max(f.low, 1e-9)) for f in ordered)])
    high = min(widest, WIDEST)
    x = linear_scale(2 - high, high, LEFT, WIDTH - RIGHT)
    height = TOP + ROW * len(ordered) + BOTTOM
    told = "; ".join(f"{f.case} {f.metric.title} {significant(f.ratio)}" for f in ordered)
    panel = Drawing("Times at HEAD over times at BASE", told, height, WIDTH)
    step = 0.05 if high < 1.2 else 0.2
    count = round((high - 1) / step - 0.49)
    ticks = [1 + step * i for i in range(-count, count + 1)]
    panel.bottom_axis([(x(t), f"{t:.2f}") for t in ticks], "HEAD / BASE", LEFT, RIGHT)
    for bound in (1 / (1 + criteria.minimum_effect), 1 + criteria.minimum_effect):
        panel.line(x(bound), TOP - 6, x(bound), height - BOTTOM, "limit")
    for index, finding in enumerate(ordered):
        y = TOP + ROW * (index + 0.5)
        series = {"worse": "series-1", "better": "series-2"}.get(finding.verdict, "series-5")
        low, end = (min(max(v, 2 - high), high) for v in (finding.low, finding.high))
        panel.text(
            LEFT - 8, y + 4, f"{finding.case}, {finding.metric.title}", "small", anchor="end"
        )
        panel.polyline([(x(low), y), (x(end), y)], f"series {series}")
        tip = f"{finding.case}, {finding.metric.title}: {finding.verdict}, {finding.note}"
        middle = min(max(finding.ratio, 2 - high), high)
        shape = {"worse": "triangle", "better": "diamond"}.get(finding.verdict, "circle")
        panel.mark(shape, x(middle), y, f"mark {series}", r=4.5, tip=tip)
        panel.text(WIDTH - RIGHT + 8, y + 4, f"{significant(finding.ratio)}×", "value small")
    caption = (
        "Each mark is the mean of the rounds' ratios, weighted and geometric, its line the "
        "interval. Triangles are longer, diamonds shorter, circles neither; between the dashed "
        "lines times count as equal."
    )
    return Figure("times", "Times, HEAD over BASE", caption, (panel,), columns=1)
