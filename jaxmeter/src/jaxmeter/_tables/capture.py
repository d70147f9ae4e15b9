"""Traces of JAX: made of a case, or found in a folder."""

from __future__ import annotations

from pathlib import Path

import jax

from jaxmeter._cli.arguments import with_arrays
from jaxmeter._measure.case import Case, name_of
from jaxmeter._measure.staging import jitted
from jaxmeter.errors import JaxmeterError


def capture(case: Case, folder: Path, *, repeat: int = 3, cold: bool = False) -> Path:
    """Trace runs of a case, each as a step, into a folder that TensorBoard opens.

    Parameters
    ----------
    case : Case
        What to run; arrays given as `jax.ShapeDtypeStruct` are filled with ones.
    folder : Path
        Of all runs; this one gets a folder of its own below ``plugins/profile``.
    repeat : int
        Runs in the trace.
    cold : bool
        Whether tracing, lowering and compiling are in the trace too; else it is called once before.

    Returns
    -------
    Path
        The ``.xplane.pb`` file.

    Raises
    ------
    JaxmeterError
        If the folder cannot be written, or JAX left no trace there.
    Exception
        Whatever the case raises.
    """
    if repeat < 1:
        raise JaxmeterError(f"capture: got repeat={repeat}; give at least 1")
    case = with_arrays(case)
    run, args, kwargs = jitted(case), case.args, case.kwargs
    if not cold:
        jax.block_until_ready(run(*args, **kwargs))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JaxmeterError(
            f"capture: got folder={str(folder)!r} ({error}); give one that can be written"
        ) from None
    before = {path: path.stat().st_mtime_ns for path in _files(folder)}
    with jax.profiler.trace(str(folder)):
        for step in range(repeat):
            with jax.profiler.StepTraceAnnotation(name_of(case.fn), step_num=step):
                jax.block_until_ready(run(*args, **kwargs))
    # Runs are named by the second: two within one share a folder.
    made = [path for path in _files(folder) if path.stat().st_mtime_ns != before.get(path)]
    if not made:
        raise JaxmeterError(
            f"capture: JAX left no .xplane.pb in {str(folder)!r}; is the disk full?"
        )
    return sorted(made)[-1]


def trace_file(place: Path) -> Path:
    """The trace in a place: the file itself, or the newest below a folder, of one host alone.

    Raises
    ------
    JaxmeterError
        If there is none.
    """
    if place.is_file():
        return place
    found = sorted(_files(place), key=lambda path: path.stat().st_mtime)
    if not found:
        raise JaxmeterError(
            f"trace: got {str(place)!r}, which has no *.xplane.pb in it or below; give a folder "
            "that jax.profiler.trace wrote to, or package.module:function to trace"
        )
    return found[-1]


def _files(folder: Path) -> list[Path]:
    return list(folder.rglob("*.xplane.pb")) if folder.is_dir() else []
