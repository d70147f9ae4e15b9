"""Sample the source lines while a function is traced, and count the equations of each line."""

from __future__ import annotations

import _thread
import contextlib
import functools
import itertools
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

from jaxmeter._program.jaxprs import inner, sub_jaxprs
from jaxmeter._program.places import (
    Place,
    author_place,
    is_generated,
    is_over_leaves,
    owner,
    places_of_equation,
    places_of_frame,
)

_INTERVAL_SECONDS = 1e-3
# The signal is never sent to the process: `_thread.interrupt_main` only makes Python call the
# handler of the signal. By default, processes ignore this signal.
_SIGNAL = signal.SIGURG
# Python switches threads after this time. With the default of 5 ms, samples would be 5 ms apart.
_SWITCH_SECONDS = 5e-4


class Sampler:
    """A sampler of the Python stack of the main thread. Each sample adds the seconds since the last
    sample to the seconds of the sampled stack.

    A second thread requests each sample. The main thread takes the sample in the handler of a
    signal, because CPython 3.11 can crash if another thread reads the frames of a running thread.
    """

    def __init__(self) -> None:
        self.stacks: dict[tuple[Place, ...], float] = defaultdict(float)
        """Seconds by stack of source lines, the innermost line first. A stack contains the lines of
        the user and of installed packages except JAX, and may be empty."""
        self._last = 0.0

    @contextlib.contextmanager
    def sampling(self) -> Iterator[None]:
        """Sample while a ``with`` block runs.

        No samples are taken outside the main thread, or if the program handles SIGURG itself. If
        an event loop waits for signals, no samples are taken, because the requests would fill
        the pipe that wakes the loop.
        """
        if not _may_sample():
            yield
            return
        requests, interval = started_requests(), sys.getswitchinterval()
        self._last = time.perf_counter()
        signal.signal(_SIGNAL, self._sample)
        try:
            sys.setswitchinterval(_SWITCH_SECONDS)
            requests.wanted.set()
            try:
                yield
            finally:
                requests.end()
        finally:
            sys.setswitchinterval(interval)
            signal.signal(_SIGNAL, signal.SIG_DFL)

    def _sample(self, number: int, frame: FrameType | None) -> None:
        now = time.perf_counter()
        self.stacks[tuple(places_of_frame(frame))] += now - self._last
        self._last = now


def _may_sample() -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    if (wakeup := signal.set_wakeup_fd(-1)) != -1:
        signal.set_wakeup_fd(wakeup)
        return False
    return signal.getsignal(_SIGNAL) is signal.SIG_DFL


class _Requests(threading.Thread):
    """A thread that requests samples while they are wanted."""

    def __init__(self) -> None:
        super().__init__(name="jaxmeter samples", daemon=True)
        self.wanted, self._lock = threading.Event(), threading.Lock()

    def run(self) -> None:
        while True:
            self.wanted.wait()
            time.sleep(_INTERVAL_SECONDS)
            with self._lock:
                if self.wanted.is_set():
                    _thread.interrupt_main(_SIGNAL)

    def end(self) -> None:
        """Request no more samples; when this call returns, no request is under way."""
        with self._lock:
            self.wanted.clear()


_requests: list[_Requests] = []


def started_requests() -> _Requests:
    """Return the thread that requests samples; start the thread if it is not running.

    From Python 3.12 on, no thread can start while a process ends. A process that makes profiles
    while it ends must therefore start this thread earlier. A forked process has no other threads.
    """
    if not (_requests and _requests[0].is_alive()):
        _requests[:] = [_Requests()]
        _requests[0].start()
    return _requests[0]


class Called(NamedTuple):
    """The source lines of an equation; both are empty if JAX does not report them."""

    line: str
    """The innermost line."""
    author: str
    """The innermost line of the user's code; if there is no such line, the innermost line."""


class Equations:
    """The equations of a jaxpr by source line.

    An equation inside a jitted function of JAX, such as ``jnp.where``, belongs to the line that
    calls the function. JAX traces the function once and reuses its equations, so the lines that JAX
    reports for these equations may belong to another call.
    """

    def __init__(self, closed_jaxpr: Any) -> None:
        self.stacks: dict[Called, list[Place]] = {}
        """The first stack of calls that led to each pair of lines, the innermost call first."""
        self.concatenated: Counter[Called] = Counter()
        """The largest number of arrays that one equation of these lines stacks or concatenates."""
        self.over_leaves: set[str] = set()
        """Lines of installed packages that run once for each leaf of a pytree."""
        self._known: dict[Any, Counter[tuple[Called, str]]] = {}
        self._chains: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)
        """For each innermost line, the chains of lines from this line to the author's line, and the
        author's lines."""
        self.counts = self._count(closed_jaxpr, None, [])
        """The number of equations by lines and primitive."""

    def _count(
        self, jaxpr: Any, caller: Called | None, outer: list[Place]
    ) -> Counter[tuple[Called, str]]:
        """Count the equations of a jaxpr. If all of them belong to a line, ``caller`` is this line.
        ``outer`` contains the places of the equation that has the jaxpr."""
        author = author_place(outer)
        key = id(inner(jaxpr)), caller, author
        if key in self._known:
            return self._known[key]
        counts: Counter[tuple[Called, str]] = Counter()
        for equation in inner(jaxpr).eqns:
            name = equation.primitive.name
            places = [] if caller else places_of_equation(equation, outer)
            called = caller or self._called(equation, places)
            counts[called, name] += 1
            if name in ("concatenate", "stack"):
                self.concatenated[called] = max(self.concatenated[called], len(equation.invars))
            for sub in sub_jaxprs(equation):
                inside = called if caller or (name == "jit" and _is_jax(sub)) else None
                counts.update(self._count(sub, inside, places))
        self._known[key] = counts
        return counts

    def _called(self, equation: Any, places: list[Place]) -> Called:
        author = author_place(places)
        if author is None:
            return Called("", "")
        called = Called(places[0].source, author.source)
        chain = tuple(place.source for place in places[: places.index(author) + 1])
        self._chains[called.line][chain] = called.author
        self.stacks.setdefault(called, places)
        if is_over_leaves(equation):
            self.over_leaves.add(called.line)
        return called

    @functools.cached_property
    def leafwise(self) -> set[str]:
        """The lines that get most of their equations from a package's loop over pytree leaves."""
        every: Counter[str] = Counter()
        repeated: Counter[str] = Counter()
        for (called, _), count in self.counts.items():
            every[called.author] += count
            repeated[called.author] += count * (called.line in self.over_leaves)
        return {line for line, count in repeated.items() if count > every[line] / 2}

    def author(self, stack: Sequence[str]) -> str:
        """Return the line to show for an instruction of the compiler, from the lines of the calls
        that led to the instruction, the innermost call first.

        This is the innermost line of the user's code. The compiler may leave out the outer calls,
        so the equations with the same innermost line and the same calls are also searched. If they
        belong to different lines of the user's code, the innermost line is returned.
        """
        lines = list(itertools.takewhile(lambda line: owner(line) != "jaxmeter", stack))
        if not lines:
            return ""
        own = [line for line in lines if owner(line) == "user"]
        for line in own:
            if not is_generated(line.rpartition(":")[0]):
                return line
        calls = [line for line in lines if owner(line) in ("package", "user")]
        chains = self._chains.get(lines[0], {})
        authors = {author for chain, author in chains.items() if _is_part(calls, chain)}
        authors = authors or set(chains.values())
        return authors.pop() if len(authors) == 1 else (own or lines)[0]


def _is_part(part: Iterable[str], chain: Iterable[str]) -> bool:
    """Return whether the lines of ``part`` occur in ``chain``, in the same order."""
    rest = iter(chain)
    return all(line in rest for line in part)


def _is_jax(jaxpr: Any) -> bool:
    information = getattr(inner(jaxpr), "debug_info", None)
    _, _, defined = (getattr(information, "func_src_info", None) or "").partition(" at ")
    return owner(defined) == "JAX"
