"""Whether this process was forked after JAX had started: there every computation waits for ever.

JAX computes on threads of its own, and a forked process has none of them. JAX warns at the fork,
by ``os.register_at_fork``, and then hangs when a result is read.
"""

import os
import sys

_jax_runs_in: int | None = None  # the process, from its first fork on


def is_forked() -> bool:
    """Return whether JAX ran before this process was forked."""
    return _jax_runs_in not in (None, os.getpid())


def _before_fork() -> None:
    global _jax_runs_in
    # Public functions that know the backends start them. Without the private name JAX still warns.
    bridge = sys.modules.get("jax._src.xla_bridge")
    if _jax_runs_in is None and getattr(bridge, "_backends", None):
        _jax_runs_in = os.getpid()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_before_fork)
