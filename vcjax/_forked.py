"""Detect a process that was forked after JAX had started: every computation in it would hang.

JAX computes on threads of its own, which a forked process does not have. JAX itself only warns at
the fork; the forked process then hangs when it reads a result.
"""

import os
import sys

_jax_runs_in: int | None = None  # id of the process in which JAX runs, set before its first fork


def is_forked() -> bool:
    """Return whether JAX had started before this process was forked."""
    return _jax_runs_in not in (None, os.getpid())


def _before_fork() -> None:
    global _jax_runs_in
    # Every public function that reports backends also starts them, so this function reads a private
    # name of JAX. If JAX drops this name, only the warning of JAX is left.
    bridge = sys.modules.get("jax._src.xla_bridge")
    if _jax_runs_in is None and getattr(bridge, "_backends", None):
        _jax_runs_in = os.getpid()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_before_fork)
