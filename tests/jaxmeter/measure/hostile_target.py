"""Targets that attack the process that measures them.

Most targets attack while this module is imported. The variable JAXMETER_HOSTILE names the attack.
If the process still runs after the attack, `GaveUp` is raised, so that the worker does not import
JAX and is quick. The last targets return a case, and attack in their setup or while the case is
measured.
"""

import builtins
import contextlib
import ctypes
import dataclasses
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

SLEEP = "import time; time.sleep(600)"
FLOOD = "import os\nwhile True: os.write(1, b'z' * 65536)"


class GaveUp(Exception):
    """An error after an attack."""


def note_pid(pid):
    """Append the id of a process to a file; the test checks whether the process is alive."""
    with open(os.environ["JAXMETER_HOSTILE_PIDS"], "a") as file:
        file.write(f"{pid}\n")


def leave_child(code):
    """Start a Python process in a session of its own."""
    command = [sys.executable, "-S", "-c", code]
    note_pid(subprocess.Popen(command, start_new_session=True).pid)


def open_descriptors():
    return [number for number in map(int, os.listdir("/proc/self/fd")) if number > 2]


def forged():
    from jaxmeter._records.record import SCHEMA

    made = {"name": "forged", "status": "ok", "samples_seconds": [1e-9] * 3, "schema": SCHEMA}
    return json.dumps(made)


def write_and_leave(content):
    for number in open_descriptors():
        with contextlib.suppress(OSError):
            os.set_blocking(number, False)
            os.write(number, b"\n" + content + b"\n")
    os._exit(0)


def flood(descriptor, content):
    for _ in range(500):
        os.write(descriptor, content * 65536)


def raises(error):
    raise error


# By name: the attack, the beginning of the failure's kind, and a part of the failure's message.
ATTACKS = {
    "writes_a_forged_record": (lambda: write_and_leave(forged().encode()), "Exit", "code 0"),
    "writes_no_text": (lambda: write_and_leave(bytes(range(256)) * 1000), "Exit", "code 0"),
    "closes_every_descriptor": (lambda: os.closerange(3, 1024), "GaveUp", ""),
    "raises_system_exit": (lambda: raises(SystemExit(0)), "SystemExit", ""),
    "raises_keyboard_interrupt": (lambda: raises(KeyboardInterrupt), "KeyboardInterrupt", ""),
    "leaves_with_code_0": (lambda: os._exit(0), "Exit", "code 0"),
    "dies_of_a_real_time_signal": (
        lambda: os.kill(os.getpid(), signal.SIGRTMIN + 3),
        *("Signal", "signal 37"),
    ),
    "kills_its_process_group": (lambda: os.killpg(0, signal.SIGKILL), "Signal", "SIGKILL"),
    "stops_its_parent": (lambda: os.kill(os.getppid(), signal.SIGSTOP), "GaveUp", ""),
    "stops_itself": (lambda: os.kill(os.getpid(), signal.SIGSTOP), "Timeout", "killed"),
}


def attack(kind="GaveUp", message=""):
    def register(function):
        ATTACKS[function.__name__] = function, kind, message
        return function

    return register


# Forged records, descriptors and output.


@attack("Exit", "code 0")
def prints_a_forged_record():
    print(forged(), flush=True)
    os._exit(0)


@attack()
def floods_every_descriptor():
    until = time.monotonic() + 1.0
    numbers = open_descriptors()
    for number in numbers:
        with contextlib.suppress(OSError):
            os.set_blocking(number, False)
    while time.monotonic() < until:
        for number in numbers:
            with contextlib.suppress(OSError):
                os.write(number, b"x" * 65536)


@attack()
def puts_its_own_file_in_place_of_every_descriptor():
    with tempfile.TemporaryFile() as file:
        for number in open_descriptors():
            with contextlib.suppress(OSError):
                os.dup2(file.fileno(), number)


@attack()
def floods_closes_and_replaces_its_output():
    class Output:
        def write(self, text):
            raise SystemExit("no output")

        def flush(self):
            time.sleep(600)

    for descriptor, content in ((1, b"y"), (2, b"\xff")):
        flood(descriptor, content)
        os.close(descriptor)
    sys.stdout = sys.stderr = Output()


# Exceptions.


@attack("E")
def raises_an_exception_with_an_endless_name_and_message():
    raise type("E" * 10**6, (Exception,), {})("\ud800 \udfff \x00 \x1b[31m" + "m" * 10**7)


@attack("(an exception class of unknown name)")
def raises_an_exception_with_a_name_that_is_no_text():
    class Meta(type):
        def __getattribute__(cls, name):
            raise ValueError(f"no {name}")

    class Nameless(Exception, metaclass=Meta):
        pass

    raise Nameless


@attack("ValueError")
def raises_from_a_long_chain_that_begins_with_a_group_of_ten_thousand():
    error: Exception = ExceptionGroup("many", [ValueError(number) for number in range(10_000)])
    for number in range(3000):
        made = ValueError(f"number {number}")
        made.__cause__ = error
        error = made
    raise error


@attack("RecursionError")
def raises_from_deep_recursion():
    raises_from_deep_recursion()


@attack("MemoryError")
def exceeds_its_memory_while_it_fails():
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
    held = []
    while True:
        held.append(bytearray(2**20))


@attack("Exit", "code 1")
def may_open_no_file():
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


@attack("Exit", "code 1")
def may_write_no_file():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


# Ends and processes.


@attack("Signal", "SIGSEGV")
def reads_from_address_0():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.string_at(0)


@attack("Signal", "SIGKILL")
def kills_its_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)


@attack("Timeout", "killed in the phase import")
def ignores_every_signal_beside_a_child():
    leave_child(SLEEP)
    note_pid(os.getpid())
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)


@attack("Exit", "code 0")
def forks_and_the_parent_leaves():
    if os.fork():
        os._exit(0)
    note_pid(os.getpid())
    time.sleep(600)


@attack("Exit", "code 0")
def forks_and_leaves_after_its_child():
    """Let the child raise `GaveUp`. The child must not report its failure."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os._exit(0)


@attack()
def leaves_processes_of_every_kind():
    leave_child(FLOOD)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:  # a daemon without environment
            note_pid(os.getpid())
            os.execve(sys.executable, [sys.executable, "-S", "-c", SLEEP], {})
        os._exit(0)
    os.wait()
    time.sleep(0.1)
    for _ in range(100):
        child = os.fork()
        if child == 0:
            os.setsid()
            time.sleep(600)
        note_pid(child)


# Modules that jaxmeter uses.


@attack("RecordError")
def replaces_json():
    json.dumps = lambda *_, **__: '{"status": "ok"}'


@attack()
def replaces_functions_of_os():
    os.getpid = os._exit = lambda *_: 0


@attack("Exit", "code 1")
def breaks_what_writes_records():
    import msgspec

    json.dumps = msgspec.to_builtins = msgspec.convert = dataclasses.replace = None


@attack("Exit", "code 1")
def breaks_the_builtins():
    builtins.len = builtins.print = builtins.str = None


@attack()
def breaks_tracebacks_and_modules():
    import traceback

    traceback.format_exception = traceback.print_exception = None
    sys.excepthook = None
    for name in list(sys.modules):
        if name.startswith(("jaxmeter", "os", "threading")):
            sys.modules[name] = None  # pyright: ignore[reportArgumentType]


# Measured targets.


def case(**fields):
    from jaxmeter import Case

    return Case(lambda x: x + 1.0, (1.0,), **fields)


def leaves_threads_and_children_and_a_mess():
    for _ in range(3):
        threading.Thread(target=time.sleep, args=(600,)).start()
    leave_child(SLEEP)
    flood(1, b"y")
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)
    return case(check=lambda answer: {"answer": float(answer)})


def forks_in_the_setup():
    note_pid(os.fork() or os.getpid())
    return case()


def breaks_the_meter_in_its_check():
    def check(answer):
        json.dumps = dataclasses.replace = None
        return {"answer": 2.0}

    return case(check=check)


def returns_a_number_with_an_endless_name():
    return case(extras={"n" * 2**25: 1.0})


chosen = os.environ.get("JAXMETER_HOSTILE")
if chosen is not None:
    ATTACKS[chosen][0]()
    raise GaveUp(chosen)
