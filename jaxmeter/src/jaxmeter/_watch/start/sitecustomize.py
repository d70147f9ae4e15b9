"""Record the compiles of this Python process.

Python imports ``sitecustomize`` at its start (https://docs.python.org/3/library/site.html). So
this file runs in the Python processes of a watched program, even in processes that belong to
another environment or do not use JAX. It does not run in a process without the PYTHONPATH that
jaxmeter sets, or with the option -I, -E or -S.

At first, the file imports only the standard library. The recorder needs JAX, so the file imports
the recorder as soon as the program has imported JAX.
"""

import atexit
import json
import os
import sys
import time

_HERE = os.path.dirname(os.path.abspath(__file__))
_FOLDER = os.environ.get("JAXMETER_WATCH_FOLDER", "")
_SOURCE = os.environ.get("JAXMETER_WATCH_SOURCE", "")


class Events:
    """The event file of this process, with a line of JSON for each event.

    The file is opened and closed for each event. So all events are kept, whatever ends the process.
    The file also stays usable if the program closes unknown file descriptors.
    """

    path = ""

    def start(self, *, forked=False):
        """Begin a new event file for this process; `forked` is True in the child of a fork."""
        self.path = os.path.join(_FOLDER, f"{os.getpid()}-{time.time_ns()}.jsonl")
        self.write(
            "start",
            pid=os.getpid(),
            parent=os.getppid(),
            forked=forked,
            executable=sys.executable,
            python=".".join(map(str, sys.version_info[:3])),
            argv=[text[:200] for text in getattr(sys, "orig_argv", [])[:20]],
        )

    def write(self, kind, **fields):
        """Append an event. Ignore errors such as a full disk: the program must not stop."""
        line = json.dumps({"event": kind, "time": time.time(), **fields}, default=str) + "\n"
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, line.encode(errors="replace"))
            finally:
                os.close(descriptor)
        except OSError:
            pass


class _JaxFinder:
    """An import hook that starts the recorder as soon as ``import jax`` has ended."""

    def __init__(self, events):
        self.events = events

    def find_spec(self, name, path=None, target=None):
        if name != "jax":
            return None
        finders = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(name, path, target) for finder in finders)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.record()

        spec.loader.exec_module = exec_module
        return spec

    def record(self):
        try:
            try:
                from jaxmeter._watch.recorder import record
            except ImportError:
                sys.path.append(_SOURCE)  # in an environment without jaxmeter
                try:
                    from jaxmeter._watch.recorder import record
                finally:
                    sys.path.remove(_SOURCE)
            record(self.events)
        except Exception as error:  # the program continues without being recorded
            self.events.write("problem", text=f"compiles are not recorded: {error!r}")


def _run_hidden():
    """Import the environment's own ``sitecustomize``, which this file hides."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _HERE]
    ours = sys.modules.pop(__name__, None)
    try:
        import sitecustomize  # noqa: F401  # pyright: ignore
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        # Python is still importing this file, and needs the entry of the file in sys.modules.
        sys.modules.setdefault(__name__, ours)  # pyright: ignore[reportArgumentType]


if __name__ == "sitecustomize" and _FOLDER:
    _events = Events()
    _events.start()
    atexit.register(lambda: _events.write("end"))
    os.register_at_fork(after_in_child=lambda: _events.start(forked=True))
    sys.meta_path.insert(0, _JaxFinder(_events))  # pyright: ignore[reportArgumentType]
    _run_hidden()
