"""Make the tables of a compile profile."""

from __future__ import annotations

import dataclasses
from typing import Any

import pandas as pd

from jaxmeter._records.argument_types import checking_types
from jaxmeter._records.compile import CompileProfile
from jaxmeter._tables.schemas import frame


@checking_types
def compile_tables(profile: CompileProfile) -> dict[str, pd.DataFrame]:
    """Return the tables of a compile profile by name.

    The tables are ``compile_rows``, ``compile_lines``, ``compile_kernels`` and ``compile_passes``.
    """
    kernels = [
        _plain(kernel)
        | {"operations": ", ".join(f"{count} {code}" for code, count in kernel.operations.items())}
        for kernel in profile.kernels
    ]
    passes = [{"name": name, "seconds": seconds} for name, seconds in profile.passes.items()]
    return {
        "compile_rows": frame("compile_rows", map(dataclasses.asdict, profile.rows)),
        "compile_lines": frame("compile_lines", map(_plain, profile.lines)),
        "compile_kernels": frame("compile_kernels", kernels),
        "compile_passes": frame("compile_passes", passes),
    }


def _plain(part: Any) -> dict[str, Any]:
    return dataclasses.asdict(part) | {"seconds": part.seconds}
