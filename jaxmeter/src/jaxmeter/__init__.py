"""jaxmeter: what did JAX do with my function?

Importing this package does not import JAX; what needs it does, when it is first used. So records
can be read, and cells run in worker processes, without JAX in this one.
"""

from typing import TYPE_CHECKING, Any

from jaxmeter.audit_record import Audit as Audit
from jaxmeter.audit_record import AuditedArray as AuditedArray
from jaxmeter.audit_record import Folding as Folding
from jaxmeter.audit_record import Use as Use
from jaxmeter.calibration_record import Calibration as Calibration
from jaxmeter.case import Case as Case
from jaxmeter.cell import Cell as Cell
from jaxmeter.comparing import compare as compare
from jaxmeter.comparison import compare_records as compare_records
from jaxmeter.comparison_record import ComparedProcess as ComparedProcess
from jaxmeter.comparison_record import Comparison as Comparison
from jaxmeter.comparison_record import Effort as Effort
from jaxmeter.comparison_record import Exact as Exact
from jaxmeter.comparison_record import Rule as Rule
from jaxmeter.comparison_record import Side as Side
from jaxmeter.comparison_record import Timing as Timing
from jaxmeter.errors import JaxmeterError as JaxmeterError
from jaxmeter.errors import RecordError as RecordError
from jaxmeter.errors import RetraceError as RetraceError
from jaxmeter.inventory_record import Change as Change
from jaxmeter.inventory_record import Fusion as Fusion
from jaxmeter.inventory_record import FusionChange as FusionChange
from jaxmeter.inventory_record import Inventory as Inventory
from jaxmeter.inventory_record import ProgramDiff as ProgramDiff
from jaxmeter.memory_record import Allocator as Allocator
from jaxmeter.memory_record import Buffer as Buffer
from jaxmeter.memory_record import MemoryUse as MemoryUse
from jaxmeter.memory_record import Trade as Trade
from jaxmeter.memory_record import TradePoint as TradePoint
from jaxmeter.record import ConstantArray as ConstantArray
from jaxmeter.record import Constants as Constants
from jaxmeter.record import Counts as Counts
from jaxmeter.record import Environment as Environment
from jaxmeter.record import Failure as Failure
from jaxmeter.record import Memory as Memory
from jaxmeter.record import Phases as Phases
from jaxmeter.record import Program as Program
from jaxmeter.record import Record as Record
from jaxmeter.retrace_record import Difference as Difference
from jaxmeter.retrace_record import Place as Place
from jaxmeter.retrace_record import Retraces as Retraces
from jaxmeter.retrace_record import TracedCall as TracedCall
from jaxmeter.retrace_record import Watched as Watched
from jaxmeter.retrace_record import WatchedFunction as WatchedFunction
from jaxmeter.run import run_cell as run_cell
from jaxmeter.terminal import markdown as markdown
from jaxmeter.terminal import table as table
from jaxmeter.version import VERSION as __version__  # noqa: F401

if TYPE_CHECKING:
    from jaxmeter.auditing import audit as audit
    from jaxmeter.calibration import calibrate as calibrate
    from jaxmeter.hoisting import hoist as hoist
    from jaxmeter.memory_use import memory as memory
    from jaxmeter.memory_use import trade as trade
    from jaxmeter.meter import measure as measure
    from jaxmeter.programs import diff as diff
    from jaxmeter.programs import inventory as inventory
    from jaxmeter.retracing import retraces as retraces
    from jaxmeter.watching import watch as watch

_WITH_JAX = {
    "audit": "jaxmeter.auditing",
    "calibrate": "jaxmeter.calibration",
    "diff": "jaxmeter.programs",
    "hoist": "jaxmeter.hoisting",
    "inventory": "jaxmeter.programs",
    "measure": "jaxmeter.meter",
    "memory": "jaxmeter.memory_use",
    "retraces": "jaxmeter.retracing",
    "trade": "jaxmeter.memory_use",
    "watch": "jaxmeter.watching",
}


def __getattr__(name: str) -> Any:
    if name in _WITH_JAX:
        import importlib

        return getattr(importlib.import_module(_WITH_JAX[name]), name)
    raise AttributeError(f"module 'jaxmeter' has no attribute {name!r}")
