"""Turn traces, XLA dumps, nsys captures, compile profiles and memory use into pandas tables.

This module needs pandas and pyarrow, which ``pip install jaxmeter[tables]`` adds; the rest of
jaxmeter works without them. Functions with a name that ends in ``_tables`` return a dictionary from
names to pandas frames. `memory_table` and `diff_dumps` return a frame. `SCHEMAS` describes every
column, except the columns of xprof's own tables. ``python -m jaxmeter.tables`` prints the
descriptions in Markdown.
"""

from jaxmeter._program.hlo import hlo_file as hlo_file
from jaxmeter._tables.compile_tables import compile_tables as compile_tables
from jaxmeter._tables.dump_tables import dump_tables as dump_tables
from jaxmeter._tables.dumps import Dump as Dump
from jaxmeter._tables.dumps import diff_dumps as diff_dumps
from jaxmeter._tables.dumps import dump_program as dump_program
from jaxmeter._tables.dumps import hlo_of as hlo_of
from jaxmeter._tables.dumps import read_dump as read_dump
from jaxmeter._tables.memory import Point as Point
from jaxmeter._tables.memory import allocator_checks as allocator_checks
from jaxmeter._tables.memory import memory_table as memory_table
from jaxmeter._tables.nsys import INSTALL_NSYS as INSTALL_NSYS
from jaxmeter._tables.nsys import NsysCapture as NsysCapture
from jaxmeter._tables.nsys import nsys_export as nsys_export
from jaxmeter._tables.nsys import nsys_profile as nsys_profile
from jaxmeter._tables.nsys import nsys_program as nsys_program
from jaxmeter._tables.nsys import nsys_version as nsys_version
from jaxmeter._tables.nsys import read_nsys as read_nsys
from jaxmeter._tables.nsys_tables import NO_RANGES as NO_RANGES
from jaxmeter._tables.nsys_tables import nsys_tables as nsys_tables
from jaxmeter._tables.schemas import SCHEMAS as SCHEMAS
from jaxmeter._tables.schemas import Schema as Schema
from jaxmeter._tables.schemas import documentation as documentation
from jaxmeter._tables.schemas import frame as frame
from jaxmeter._tables.schemas import save as save
from jaxmeter._tables.trace_tables import trace_tables as trace_tables
from jaxmeter._tables.xprof import xprof_tables as xprof_tables
from jaxmeter._trace.trace import Trace as Trace
from jaxmeter._trace.trace import capture as capture
from jaxmeter._trace.trace import read_trace as read_trace
from jaxmeter._trace.trace import runner as runner
from jaxmeter._trace.trace import trace_file as trace_file

if __name__ == "__main__":
    print(documentation(), end="")
