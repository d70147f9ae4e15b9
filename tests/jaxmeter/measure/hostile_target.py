"""Targets that attack the process that measures them.

Most targets attack while this module is imported. The variable JAXMETER_HOSTILE names the attack.
After the attack `GaveUp` is raised, so the worker never imports JAX and is quick. The last targets
return a case, and attack in their setup or while the case is measured.
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


class GaveUp(Exception):
    """Raised after an attack, so that the worker does not import JAX."""


def note_pid(pid):
    """Append the id of a process to a file; the test checks whether the process is alive."""
    with open(os.environ["JAXMETER_HOSTILE_PIDS"], "a") as file:
        file.write(f"{pid}\n")


def open_descriptors():
    return [number for number in map(int, os.listdir("/proc/self/fd")) if number > 2]


def forged():
    from jaxmeter._records.record import SCHEMA

    made = {"name": "forged", "status": "ok", "samples_seconds": [1e-9] * 3, "schema": SCHEMA}
    return json.dumps(made).encode()


def write_to_every_descriptor(content):
    for number in open_descriptors():
        with contextlib.suppress(OSError):
            os.set_blocking(number, False)
            os.write(number, b"\n" + content + b"\n")


def write_and_leave(content):
    write_to_every_descriptor(content)
    os._exit(0)


def raises(error):
    raise error


ATTACKS = {
    "writes_three_million_brackets": lambda: write_and_leave(b"[" * 3_000_000),
    "writes_a_forged_record": lambda: write_and_leave(forged()),
    "writes_no_text": lambda: write_and_leave(bytes(range(256)) * 1000),
    "writes_a_record_of_wrong_types": lambda: write_and_leave(
        b'{"schema": 2, "name": 3, "status": [], "phases": "x"}'
    ),
    "closes_every_descriptor": lambda: os.closerange(3, 1024),
    "raises_with_a_message_of_ten_megabytes": lambda: raises(RuntimeError("m" * 10**7)),
    "raises_with_half_a_surrogate_pair": lambda: raises(
        RuntimeError("\ud800 \udfff \x00 \x1b[31m")
    ),
    "raises_an_exception_with_an_endless_name": lambda: raises(
        type("E" * 10**6, (Exception,), {})("named at length")
    ),
    "raises_a_group_of_ten_thousand": lambda: raises(
        ExceptionGroup("many", [ValueError(number) for number in range(10_000)])
    ),
    "raises_system_exit": lambda: raises(SystemExit(0)),
    "raises_keyboard_interrupt": lambda: raises(KeyboardInterrupt),
    "raises_generator_exit": lambda: raises(GeneratorExit),
    "leaves_with_code_0": lambda: os._exit(0),
    "leaves_with_code_255": lambda: os._exit(255),
    "dies_of_a_real_time_signal": lambda: os.kill(os.getpid(), signal.SIGRTMIN + 3),
    "kills_its_process_group": lambda: os.killpg(0, signal.SIGKILL),
    "stops_its_parent": lambda: os.kill(os.getppid(), signal.SIGSTOP),
    "stops_itself": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "sleeps_beyond_its_time": lambda: time.sleep(600),
    "may_open_no_file": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0)),
}


def attack(function):
    ATTACKS[function.__name__] = function
    return function


# Forged records and descriptors.


@attack
def writes_a_forged_record_and_dies():
    write_to_every_descriptor(forged())
    os.kill(os.getpid(), signal.SIGKILL)


@attack
def prints_a_forged_record():
    print(forged().decode(), flush=True)
    os._exit(0)


@attack
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


@attack
def puts_its_own_file_in_place_of_every_descriptor():
    with tempfile.TemporaryFile() as file:
        for number in open_descriptors():
            with contextlib.suppress(OSError):
                os.dup2(file.fileno(), number)


# Output.


@attack
def floods_standard_output():
    for _ in range(500):
        os.write(1, b"y" * 65536)


@attack
def floods_standard_error_without_a_newline():
    for _ in range(500):
        os.write(2, b"\xff" * 65536)


@attack
def closes_its_output():
    os.close(1)
    os.close(2)


@attack
def replaces_its_output():
    class Output:
        def write(self, text):
            raise SystemExit("no output")

        def flush(self):
            time.sleep(600)

    sys.stdout = sys.stderr = Output()


@attack
def raises_an_exception_without_a_text():
    class Silent(Exception):
        def __str__(self):
            raise KeyboardInterrupt

    raise Silent


@attack
def raises_an_exception_with_a_name_that_is_no_text():
    class Meta(type):
        def __getattribute__(cls, name):
            raise ValueError(f"no {name}")

    class Nameless(Exception, metaclass=Meta):
        pass

    raise Nameless


@attack
def raises_from_a_long_chain():
    error = None
    for number in range(3000):
        made = ValueError(f"number {number}")
        made.__cause__ = error
        error = made
    assert error is not None
    raise error


@attack
def raises_from_deep_recursion():
    def again():
        again()

    again()


# Ends.


@attack
def aborts():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.abort()


@attack
def reads_from_address_0():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.string_at(0)


@attack
def kills_its_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)


@attack
def ignores_every_signal():
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)


# Memory and files.


@attack
def exceeds_its_memory():
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
    bytearray(2**34)


@attack
def exceeds_its_memory_while_it_fails():
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
    held = []
    while True:
        held.append(bytearray(2**20))


@attack
def may_write_no_file():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@attack
def deletes_its_current_folder():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)


# Processes.


@attack
def forks_and_both_go_on():
    note_pid(os.fork() or os.getpid())


@attack
def forks_and_the_parent_leaves():
    if os.fork():
        os._exit(0)
    note_pid(os.getpid())
    time.sleep(600)


@attack
def leaves_a_child_in_a_session_of_its_own():
    note_pid(subprocess.Popen([sys.executable, "-S", "-c", SLEEP], start_new_session=True).pid)


@attack
def leaves_a_daemon_without_environment():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            note_pid(os.getpid())
            os.execve(sys.executable, [sys.executable, "-S", "-c", SLEEP], {})
        os._exit(0)
    os.wait()
    time.sleep(0.1)


@attack
def leaves_a_child_that_floods_the_output():
    code = "import os\nwhile True: os.write(1, b'z' * 65536)"
    note_pid(subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True).pid)


@attack
def leaves_a_hundred_children():
    for _ in range(100):
        child = os.fork()
        if child == 0:
            os.setsid()
            time.sleep(600)
        note_pid(child)


# Modules that jaxmeter uses.


@attack
def replaces_json():
    json.dumps = lambda *_, **__: '{"status": "ok"}'


@attack
def breaks_json():
    json.dumps = None


@attack
def breaks_msgspec():
    import msgspec

    msgspec.to_builtins = msgspec.convert = None


@attack
def breaks_dataclasses():
    dataclasses.replace = None


@attack
def breaks_the_builtins():
    builtins.len = builtins.print = builtins.str = None


@attack
def breaks_tracebacks():
    import traceback

    traceback.format_exception = traceback.print_exception = None
    sys.excepthook = None


@attack
def breaks_modules():
    for name in list(sys.modules):
        if name.startswith(("jaxmeter", "os", "threading")):
            sys.modules[name] = None  # pyright: ignore[reportArgumentType]


# Measured targets.


def case(**fields):
    from jaxmeter import Case

    return Case(lambda x: x + 1.0, (1.0,), **fields)


def leaves_threads_and_children_and_a_mess():
    def wait():
        time.sleep(600)

    for _ in range(3):
        threading.Thread(target=wait).start()
    leaves_a_child_in_a_session_of_its_own()
    floods_standard_output()
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)
    return case(check=lambda answer: {"answer": float(answer)})


def forks_in_the_setup():
    note_pid(os.fork() or os.getpid())
    return case()


def breaks_the_meter_in_its_check():
    def check(answer):
        breaks_json()
        breaks_dataclasses()
        return {"answer": 2.0}

    return case(check=check)


def returns_a_number_with_an_endless_name():
    return case(extras={"n" * 2**25: 1.0})


chosen = os.environ.get("JAXMETER_HOSTILE")
if chosen is not None:
    ATTACKS[chosen]()
    raise GaveUp(chosen)
