"""jaxmeter: what did JAX do with my function?

Importing this package does not import JAX; what needs it does, when it is first used. So records
can be read, and benchmarks run in worker processes, without JAX in this one.
"""

from typing import TYPE_CHECKING, Any

from jaxmeter._compare.compare import compare as compare
from jaxmeter._compare.judge import compare_records as compare_records
from jaxmeter._measure.benchmark import BenchmarkCase as BenchmarkCase
from jaxmeter._measure.case import Case as Case
from jaxmeter._measure.run import run_case as run_case
from jaxmeter._records.audit import Audit as Audit
from jaxmeter._records.audit import AuditedArray as AuditedArray
from jaxmeter._records.audit import Folding as Folding
from jaxmeter._records.audit import Use as Use
from jaxmeter._records.calibration import Calibration as Calibration
from jaxmeter._records.comparison import ComparedProcess as ComparedProcess
from jaxmeter._records.comparison import Comparison as Comparison
from jaxmeter._records.comparison import Effort as Effort
from jaxmeter._records.comparison import Exact as Exact
from jaxmeter._records.comparison import Rule as Rule
from jaxmeter._records.comparison import Side as Side
from jaxmeter._records.comparison import Timing as Timing
from jaxmeter._records.inventory import Change as Change
from jaxmeter._records.inventory import Fusion as Fusion
from jaxmeter._records.inventory import FusionChange as FusionChange
from jaxmeter._records.inventory import Inventory as Inventory
from jaxmeter._records.inventory import ProgramDiff as ProgramDiff
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
from jaxmeter._render.terminal import markdown as markdown
from jaxmeter._render.terminal import table as table
from jaxmeter.errors import JaxmeterError as JaxmeterError
from jaxmeter.errors import RecordError as RecordError
from jaxmeter.errors import RetraceError as RetraceError
from jaxmeter.version import VERSION as __version__  # noqa: F401

if TYPE_CHECKING:
    from jaxmeter._capture.audit import audit as audit
    from jaxmeter._capture.calibration import calibrate as calibrate
    from jaxmeter._capture.hoist import hoist as hoist
    from jaxmeter._measure.meter import measure as measure
    from jaxmeter._program.inventory import diff as diff
    from jaxmeter._program.inventory import inventory as inventory
    from jaxmeter._program.memory import memory as memory
    from jaxmeter._program.memory import tradeoff as tradeoff
    from jaxmeter._retrace.retraces import retraces as retraces
    from jaxmeter._retrace.watch import watch as watch

_WITH_JAX = {
    "audit": "jaxmeter._capture.audit",
    "calibrate": "jaxmeter._capture.calibration",
    "diff": "jaxmeter._program.inventory",
    "hoist": "jaxmeter._capture.hoist",
    "inventory": "jaxmeter._program.inventory",
    "measure": "jaxmeter._measure.meter",
    "memory": "jaxmeter._program.memory",
    "retraces": "jaxmeter._retrace.retraces",
    "tradeoff": "jaxmeter._program.memory",
    "watch": "jaxmeter._retrace.watch",
}


def __getattr__(name: str) -> Any:
    if name in _WITH_JAX:
        import importlib

        return getattr(importlib.import_module(_WITH_JAX[name]), name)
    raise AttributeError(f"module 'jaxmeter' has no attribute {name!r}")
