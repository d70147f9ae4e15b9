"""Measure a benchmark case in a fresh worker process; return a record even if the process
crashes."""

from __future__ import annotations

import dataclasses
import signal

from jaxmeter._measure.benchmark import BenchmarkCase
from jaxmeter._measure.environment import host_environment
from jaxmeter._measure.progress import UNFINISHED, capped
from jaxmeter._records.record import Failure, Record
from jaxmeter._workers.processes import EndedWorker, in_worker
from jaxmeter.errors import JaxmeterError


def run_case(case: BenchmarkCase) -> Record:
    """Measure a case in a fresh worker process, with cold caches and the time limit of the case.

    Returns
    -------
    Record
        A record is returned whatever the target does. ``status`` and ``failure`` report a failed
        import, an exception, a crash or a timeout. After such a failure, the record still has the
        measurements of all earlier phases. Long messages and long output are shortened.

    Raises
    ------
    JaxmeterError
        If the argument is not a `BenchmarkCase`.
    FileError
        If no temporary folder can be made, or the case cannot be written into it.

    Notes
    -----
    POSIX only. The processes that the worker has started are killed when the worker process ends,
    when the time limit expires, or when the process that called `run_case` is interrupted. On
    Linux, all descendants of the worker are killed; on other systems, only the worker's process
    group.

    The worker process runs the target and also measures it. The output of the target is never
    mistaken for a record. But a target can falsify its measurement if it changes jaxmeter or the
    clock in the memory of the worker process. A target can leave processes behind if it kills its
    parent process.
    """
    if not isinstance(case, BenchmarkCase):
        raise JaxmeterError(
            f"run_case: got {case!r:.80}; give a "
            "jaxmeter.BenchmarkCase(name, 'package.module:function')"
        )
    ended = in_worker("jaxmeter._workers.worker", case, case.env, case.timeout_seconds)
    record = ended.answer_as(Record)
    if isinstance(record, Failure):
        record = Record(case.name, "failed", failure=record, environment=host_environment())
    record = dataclasses.replace(record, name=case.name, target=case.target, params=case.params)
    return with_ending(record, ended, case.timeout_seconds)


def with_ending(record: Record, ended: EndedWorker, timeout_seconds: float) -> Record:
    """Return the record with facts that only the parent process knows: the duration of the worker,
    and the number of XLA's warnings of slow constant folding. After a failure, also add the
    worker's output. If the worker ended before it finished the record, add how the worker ended."""
    alarms = ended.folding_alarms_count
    constants = dataclasses.replace(record.constants, folding_alarms_count=alarms)
    record = dataclasses.replace(record, constants=constants, wall_seconds=ended.seconds)
    failure = record.failure
    if failure is None:
        return record
    status, kind, message = record.status, failure.kind, failure.message
    if kind == UNFINISHED:  # a finished answer counts, however the process ended
        code, phase = ended.exit_code, failure.phase
        if code is None:
            status, kind = "timeout", "Timeout"
            limit = f"{timeout_seconds:g} s (timeout_seconds)"
            message = f"the worker was killed in the phase {phase} after {limit}"
        elif code < 0:
            kind = "Signal"
            message = f"the worker was ended by {_signal_name(-code)} in the phase {phase}"
        else:
            kind, message = "Exit", f"the worker exited with code {code} in the phase {phase}"
    failure = dataclasses.replace(failure, kind=kind, message=message, output=ended.printed)
    return dataclasses.replace(record, status=status, failure=capped(failure))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
