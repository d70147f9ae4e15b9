"""Measure JAX functions: phases, captured constants, retraces, programs and memory.

Importing this package imports only its module ``version``, and not JAX. The module of a public name
is imported when the name is first used. Therefore a program under ``jaxmeter watch`` starts
quickly, and a process without JAX can read records.
"""

# ruff: noqa: I001  (the imports are grouped by topic)

from typing import TYPE_CHECKING as _IS_CHECKED
from typing import Any as _Any

from jaxmeter.version import VERSION as __version__  # noqa: F401

if _IS_CHECKED:  # `_modules` reads the public names from these lines
    # Cases, measurements in fresh processes, and comparisons.
    from jaxmeter._compare.compare import compare as compare
    from jaxmeter._compare.compare import compare_processes as compare_processes
    from jaxmeter._compare.compare import compare_records as compare_records
    from jaxmeter._compare.rounds import MEDIAN_COVERAGE as MEDIAN_COVERAGE
    from jaxmeter._compare.rounds import MIN_VALUES_COUNT as MIN_VALUES_COUNT
    from jaxmeter._compare.rounds import MedianInterval as MedianInterval
    from jaxmeter._compare.rounds import median_interval as median_interval
    from jaxmeter._compare.rounds import paired_ratio as paired_ratio
    from jaxmeter._compare.rounds import Round as Round
    from jaxmeter._compare.rounds import SampleSummary as SampleSummary
    from jaxmeter._compare.rounds import adjacent_rounds as adjacent_rounds
    from jaxmeter._compare.times import MIN_ROUNDS_COUNT as MIN_ROUNDS_COUNT
    from jaxmeter._compare.times import compare_cases as compare_cases
    from jaxmeter._compare.times import compare_times as compare_times
    from jaxmeter._measure.benchmark import BenchmarkCase as BenchmarkCase
    from jaxmeter._measure.case import Case as Case
    from jaxmeter._workers.run import run_case as run_case

    # Results and errors.
    from jaxmeter._records.audit import Audit as Audit
    from jaxmeter._records.audit import AuditedArray as AuditedArray
    from jaxmeter._records.audit import Folding as Folding
    from jaxmeter._records.audit import Use as Use
    from jaxmeter._records.audit import Calibration as Calibration
    from jaxmeter._records.cache import CacheDiagnosis as CacheDiagnosis
    from jaxmeter._records.cache import CachedProgram as CachedProgram
    from jaxmeter._records.compile import CompileAdvice as CompileAdvice
    from jaxmeter._records.compile import CompiledKernel as CompiledKernel
    from jaxmeter._records.compile import CompiledLine as CompiledLine
    from jaxmeter._records.compile import CompileProfile as CompileProfile
    from jaxmeter._records.compile import CompileRow as CompileRow
    from jaxmeter._records.compile import CompileSummary as CompileSummary
    from jaxmeter._records.record import PHASES as PHASES
    from jaxmeter._records.comparison import TIMES as TIMES
    from jaxmeter._records.comparison import ComparedProcess as ComparedProcess
    from jaxmeter._records.comparison import Comparison as Comparison
    from jaxmeter._records.comparison import Criteria as Criteria
    from jaxmeter._records.comparison import Effort as Effort
    from jaxmeter._records.comparison import Exact as Exact
    from jaxmeter._records.comparison import Side as Side
    from jaxmeter._records.comparison import Timing as Timing
    from jaxmeter._records.inventory import Change as Change
    from jaxmeter._records.inventory import Fusion as Fusion
    from jaxmeter._records.inventory import FusionChange as FusionChange
    from jaxmeter._records.inventory import Inventory as Inventory
    from jaxmeter._records.inventory import LineChange as LineChange
    from jaxmeter._records.inventory import ProgramDiff as ProgramDiff
    from jaxmeter._records.inventory import SourceLine as SourceLine
    from jaxmeter._records.lock import LockChange as LockChange
    from jaxmeter._records.lock import LockCheck as LockCheck
    from jaxmeter._records.memory import Allocator as Allocator
    from jaxmeter._records.memory import Buffer as Buffer
    from jaxmeter._records.memory import MemoryUse as MemoryUse
    from jaxmeter._records.memory import Tradeoff as Tradeoff
    from jaxmeter._records.memory import TradeoffPoint as TradeoffPoint
    from jaxmeter._records.record import ConstantArray as ConstantArray
    from jaxmeter._records.record import Constants as Constants
    from jaxmeter._records.record import Counts as Counts
    from jaxmeter._records.record import Environment as Environment
    from jaxmeter._records.record import Failure as Failure
    from jaxmeter._records.record import Memory as Memory
    from jaxmeter._records.record import Phases as Phases
    from jaxmeter._records.record import Program as Program
    from jaxmeter._records.record import Record as Record
    from jaxmeter._records.retraces import Difference as Difference
    from jaxmeter._records.retraces import Place as Place
    from jaxmeter._records.retraces import Retraces as Retraces
    from jaxmeter._records.retraces import TracedCall as TracedCall
    from jaxmeter._records.retraces import Watched as Watched
    from jaxmeter._records.retraces import WatchedFunction as WatchedFunction
    from jaxmeter._records.run import Line as Line
    from jaxmeter._records.run import RunCapture as RunCapture
    from jaxmeter._records.run import RunCompile as RunCompile
    from jaxmeter._records.run import RunInterval as RunInterval
    from jaxmeter._records.run import RunProcess as RunProcess
    from jaxmeter._records.run import Saving as Saving
    from jaxmeter._records.run import WatchedRun as WatchedRun
    from jaxmeter.errors import FileError as FileError
    from jaxmeter.errors import JaxmeterError as JaxmeterError
    from jaxmeter.errors import RecordError as RecordError
    from jaxmeter.errors import RetraceError as RetraceError

    # Untrusted files, temporary folders.
    from jaxmeter._records.files import read_file as read_file
    from jaxmeter._records.files import temporary_folder as temporary_folder
    from jaxmeter._records.files import write_file as write_file

    # Results as text; numbers with units.
    from jaxmeter._render.terminal import markdown as markdown
    from jaxmeter._render.terminal import table as table
    from jaxmeter._render.units import bytes_text as bytes_text
    from jaxmeter._render.units import seconds_text as seconds_text

    # For other command-line tools: options, targets and the environment.
    from jaxmeter._cli.arguments import case_from_options as case_from_options
    from jaxmeter._cli.arguments import parse_parameter as parse_parameter
    from jaxmeter._cli.command import TARGET_HELP as TARGET_HELP
    from jaxmeter._cli.command import add_target_options as add_target_options
    from jaxmeter._measure.environment import host_environment as host_environment
    from jaxmeter._measure.environment import jax_environment as jax_environment
    from jaxmeter._measure.environment import load_1min as load_1min
    from jaxmeter._measure.targets import is_target as is_target
    from jaxmeter._measure.targets import resolve as resolve

    # Functions from modules that import JAX.
    from jaxmeter._capture.audit import audit as audit
    from jaxmeter._capture.calibration import calibrate as calibrate
    from jaxmeter._capture.hoist import hoist as hoist
    from jaxmeter._compare.pair import measure_pair as measure_pair
    from jaxmeter._compile.profile import compile_profile as compile_profile
    from jaxmeter._measure.accounting import peak_rss_bytes as peak_rss_bytes
    from jaxmeter._measure.accounting import reset_peak_rss as reset_peak_rss
    from jaxmeter._measure.accounting import rss_bytes as rss_bytes
    from jaxmeter._measure.meter import measure as measure
    from jaxmeter._program.inventory import diff as diff
    from jaxmeter._program.inventory import inventory as inventory
    from jaxmeter._program.memory import memory as memory
    from jaxmeter._program.memory import tradeoff as tradeoff
    from jaxmeter._retrace.retraces import retraces as retraces
    from jaxmeter._retrace.watch import watch as watch


def load_ipython_extension(shell: _Any) -> None:
    """Add the cell magic ``%%jaxmeter`` to an IPython shell.

    ``%load_ext jaxmeter`` calls this function.
    """
    from jaxmeter._notebook import register

    register(shell)


def _modules() -> dict[str, str]:
    """Return a dictionary from each public name to the name of the module that contains it."""
    import inspect
    import re
    import sys

    source = inspect.getsource(sys.modules[__name__])
    lines = re.findall(r"^    from (\S+) import (\w+) as \2$", source, re.MULTILINE)
    return {name: module for module, name in lines}


def __getattr__(name: str) -> _Any:
    import importlib

    if name == "tables":  # a module that needs pandas
        return importlib.import_module("jaxmeter.tables")
    module = None if name.startswith("_") else _modules().get(name)
    if module is None:
        raise AttributeError(f"module 'jaxmeter' has no attribute {name!r}")
    globals()[name] = found = getattr(importlib.import_module(module), name)
    return found


def __dir__() -> list[str]:
    return sorted([*_modules(), "tables"])
