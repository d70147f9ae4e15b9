"""jaxmeter: what JAX did with a function, measured."""

from jaxmeter.errors import JaxmeterError as JaxmeterError
from jaxmeter.errors import RecordError as RecordError
from jaxmeter.record import ConstantArray as ConstantArray
from jaxmeter.record import Constants as Constants
from jaxmeter.record import Counts as Counts
from jaxmeter.record import Environment as Environment
from jaxmeter.record import Failure as Failure
from jaxmeter.record import Memory as Memory
from jaxmeter.record import Phases as Phases
from jaxmeter.record import Program as Program
from jaxmeter.record import Record as Record
from jaxmeter.version import VERSION as __version__  # noqa: F401
