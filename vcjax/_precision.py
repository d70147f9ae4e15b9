"""In which precision the far field is summed."""

from vcjax._errors import VcjaxError
from vcjax._quadrature.rule import Rule

# `choose` sets the cut-off from the digits: 3.49 for 5, 3.96 for 6.
_LARGEST_CUTOFF = 3.6


def resolve_far_dtype(call: str, rule: Rule, far_dtype: str) -> str:
    """ "float64" or "float32"; "auto" is float32 where its error is below that of the rule.

    On W7-X float32 adds at most 3e-6 of max |B|, half of all targets see less than 1e-7.
    """
    allowed = rule.cutoff <= _LARGEST_CUTOFF
    if far_dtype == "auto":
        return "float32" if allowed else "float64"
    if far_dtype not in ("float64", "float32"):
        raise VcjaxError(
            f'{call} got far_dtype={far_dtype!r}; give "float64", "float32" or "auto".'
        )
    if far_dtype == "float32" and not allowed:
        raise VcjaxError(
            f'{call} got far_dtype="float32" for a rule of 6 digits or more, and it keeps 5. Give '
            '"auto" or "float64", or choose a rule of at most 5 digits.'
        )
    return far_dtype
