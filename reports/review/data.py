"""A review as plain data, for programs: what was told, under which cause, and the exit code."""

import json
import math
from typing import Any

from .causes import TOLD
from .findings import Finding
from .review import Review

SCHEMA = 2  # 2 adds `only_at`, `note`, `left_out`, `failed_processes`; `exit_code` may be 2


def review_json(review: Review) -> str:
    """The review as strict JSON; what is not finite is null."""
    cause_of = {id(f): cause.kind for cause in review.causes for f in cause.findings}
    told = [finding for finding in review.findings if finding.verdict in TOLD]
    data = {
        "schema": SCHEMA,
        "base": review.sides.base.commit,
        "head": review.sides.head.commit,
        "setting": review.sides.base.setting,
        "verdict": review.verdict,
        "exit_code": review.exit_code,
        "cases_count": review.compared_count,
        "tested_count": sum(finding.is_tested for finding in review.findings),
        "findings": [_finding(finding, cause_of[id(finding)]) for finding in told],
        "not_compared": [
            {
                "case": entry.case,
                "reason": entry.reason,
                "is_worse": entry.is_worse,
                "failure_kind": entry.failure_kind or None,
            }
            for entry in review.lost
        ],
        "failed_processes": review.flaky,
        "left_out": [{"name": e.name, "reason": e.reason} for e in review.sides.left_out],
    }
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _finding(finding: Finding, cause: str) -> dict[str, Any]:
    numbers = {name: getattr(finding, name) for name in ("base", "head", "low", "high")}
    return {
        "case": finding.case,
        "metric": finding.metric.name,
        "verdict": finding.verdict,
        "cause": cause,
        "note": finding.note,
        "only_at": finding.only_at or None,
        "is_gated": finding.is_gated,
        "rounds_count": finding.rounds_count,
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
    }
