"""From what profilers and compilers leave behind to pandas tables.

Needs ``pip install jaxmeter[tables]``; no other part of jaxmeter does. Every function returns
frames, or a dictionary of them by name, and `SCHEMAS` tells what each column is.
"""

from jaxmeter.artefacts import chunk_schema  # noqa: F401
from jaxmeter.artefacts.capture import capture as capture
from jaxmeter.artefacts.capture import trace_file as trace_file
from jaxmeter.artefacts.dump_diff import diff_dumps as diff_dumps
from jaxmeter.artefacts.dump_tables import dump_tables as dump_tables
from jaxmeter.artefacts.dumps import Dump as Dump
from jaxmeter.artefacts.dumps import dump_program as dump_program
from jaxmeter.artefacts.dumps import read_dump as read_dump
from jaxmeter.artefacts.memory_tables import Point as Point
from jaxmeter.artefacts.memory_tables import allocator_checks as allocator_checks
from jaxmeter.artefacts.memory_tables import memory_table as memory_table
from jaxmeter.artefacts.modules import Origin as Origin
from jaxmeter.artefacts.modules import hlo_file as hlo_file
from jaxmeter.artefacts.modules import named_scopes as named_scopes
from jaxmeter.artefacts.modules import origins as origins
from jaxmeter.artefacts.nsight import INSTALL_NSYS as INSTALL_NSYS
from jaxmeter.artefacts.nsight import NsysCapture as NsysCapture
from jaxmeter.artefacts.nsight import nsys_export as nsys_export
from jaxmeter.artefacts.nsight import nsys_profile as nsys_profile
from jaxmeter.artefacts.nsight import nsys_program as nsys_program
from jaxmeter.artefacts.nsight import nsys_version as nsys_version
from jaxmeter.artefacts.nsight import read_nsys as read_nsys
from jaxmeter.artefacts.nsight_tables import NO_RANGES as NO_RANGES
from jaxmeter.artefacts.nsight_tables import nsys_tables as nsys_tables
from jaxmeter.artefacts.saving import save as save
from jaxmeter.artefacts.schemas import SCHEMAS as SCHEMAS
from jaxmeter.artefacts.schemas import Schema as Schema
from jaxmeter.artefacts.self_time import self_times as self_times
from jaxmeter.artefacts.trace_tables import trace_tables as trace_tables
from jaxmeter.artefacts.xplane import Trace as Trace
from jaxmeter.artefacts.xplane import read_trace as read_trace
from jaxmeter.artefacts.xprof import xprof_tables as xprof_tables
