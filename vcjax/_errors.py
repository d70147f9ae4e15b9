"""The one exception that vcjax raises for input it cannot use."""


class VcjaxError(ValueError):
    """Input that vcjax cannot use.

    The message names the call, what it got, and what to try.
    """
