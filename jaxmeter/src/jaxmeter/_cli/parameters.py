"""Named values on a command line: ``--param n=3``."""

from __future__ import annotations

import json

from jaxmeter._records.record import Scalar
from jaxmeter.errors import JaxmeterError


def parameter(text: str) -> tuple[str, Scalar]:
    """The name and the value of ``NAME=VALUE``; what is no JSON is a text and needs no quotes.

    Raises
    ------
    JaxmeterError
        If there is no ``=``.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise JaxmeterError(f"--param: got {text!r}; give NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
