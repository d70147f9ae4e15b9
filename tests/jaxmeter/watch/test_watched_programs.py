"""A watched program runs unchanged, and its compiles are recorded with lines and causes."""

import os
import re
import signal
import subprocess
import sys

import jax
import pytest

import jaxmeter
from jaxmeter import CacheDiagnosis, WatchedRun
from jaxmeter.__main__ import main
from jaxmeter._records.cache import CachedProgram
from jaxmeter._watch import launch

PROGRAM = """
import os, subprocess, sys
child = os.fork()
if child == 0:
    import jax
    jax.jit(lambda x: x + 1)(1.0)
    os._exit(7)
os.waitpid(child, 0)
subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
import jax
import numpy as np

W = np.random.default_rng(0).normal(size=(600, 600)).astype("f4")

@jax.jit
def step(x, n=2):
    return W @ x

def caller(x):
    return step(x)

caller(np.ones(600, "f4"))
caller(np.ones((600, 2), "f4"))
caller(np.ones(600, "f4"))
for scale in (1.0, 2.0):
    jax.jit(lambda x: scale * x)(W)
def loop(x):
    return jax.lax.scan(lambda carry, _: (2 * carry, None), x, None, length=3)

loop(np.ones(3, "f4"))
loop(np.ones(3, "f4"))
if os.fork() == 0:
    sys.exit()  # a forked child profiles nothing
os.wait()
jax.clear_caches()
caller(np.ones(600, "f4"))
print("to standard output")
raise RuntimeError("a crash")
"""
ENDLESS = """
import time, jax, numpy as np
jax.jit(lambda x: x * 2)(np.ones(3))
print("ready", flush=True)
time.sleep(600)
"""
CACHED = """
import time, jax, numpy as np
offset = np.asarray([time.time() % 1, time.perf_counter()])

@jax.jit
def same(x):
    return x * 2

@jax.jit
def stamped(x):
    return x + offset

@jax.jit
def printing(x):
    jax.debug.print("{}", x)
    return x * 3

for fn in (same, stamped, printing):
    fn(np.ones(2)).block_until_ready()
"""
NO_JAX = """
import sys
for _ in range(100):
    sys.stdout.write("x" * 1_000_000)
import a_module_that_is_not_there
"""


@pytest.fixture
def plain(tmp_path, monkeypatch):
    """Work in a new folder, on the CPU, with the default settings of JAX's cache."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if "_CACHE_" in name and name.startswith("JAX_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return tmp_path


def watched(folder):
    return WatchedRun.from_json((folder / "watch.json").read_bytes())


def test_each_compile_of_a_crashed_and_forked_program_has_its_line_and_cause(plain, capfd):
    (plain / "program.py").write_text(PROGRAM)
    assert (
        main(["watch", "--out", "seen", "--profile", "1", "--", sys.executable, "program.py"]) == 1
    )
    run = watched(plain / "seen")
    printed = capfd.readouterr()
    assert printed.out == "from a child\nto standard output\n"
    assert "RuntimeError: a crash" in printed.err and jaxmeter.table(run) in printed.err

    own = {one.id: one for one in run.compiles if not one.is_jax}
    line = PROGRAM.splitlines().index("    return step(x)") + 1
    steps = [own[f"step#{number}"] for number in (1, 2, 3)]
    assert {one.author and one.author.source for one in steps} == {f"{plain / 'program.py'}:{line}"}
    assert [one.function for one in steps[0].stack] == ["caller", "<module>"]
    reasons = [one.reason for one in steps]
    cleared = PROGRAM.splitlines().index("jax.clear_caches()") + 1
    assert reasons == [
        "first call",
        "shape of x: (600,) -> (600, 2)",
        f"jax.clear_caches was called at program.py:{cleared}",
    ]
    assert own["<lambda>#2"].reason == "a lambda of the same code, made again"
    assert own["scan#2"].reason == "the body of scan: a function, made again"
    first_process = {"step#1", "step#2", "step#3", "<lambda>#1", "<lambda>#2", "scan#2"}
    assert set(own) == first_process | {"<lambda>#1 of process 2"}
    for one in own.values():
        assert [part.stage for part in one.intervals] == ["trace", "lower", "compile"]
        assert (one.cache, one.cache_reason) == ("off", "jax_compilation_cache_dir is not set")
        assert one.own_seconds == pytest.approx(
            sum(part.end_seconds - part.start_seconds for part in one.intervals)
        )
    (array,) = steps[0].captured
    used = PROGRAM.splitlines().index("    return W @ x") + 1
    assert (array.bytes, array.path) == (1_440_000, "W") and steps[0].captured_bytes == array.bytes
    assert array.line == f"{plain / 'program.py'}:{used}"
    assert steps[0].equations_count and not steps[1].captured

    (profile,) = run.profiles  # of the first process; os._exit ends a process without profiles
    assert profile.name in ("step", "<lambda>") and profile.compile_seconds > 0

    first, forked, child, _ = run.processes
    assert (first.ending, forked.ending, child.ending) == ("ended", "without notice", "ended")
    assert forked.forked and first.jax and not child.jax
    again = [own[name] for name in ("step#2", "step#3", "<lambda>#2", "scan#2")]
    assert run.avoidable_seconds == pytest.approx(sum(one.own_seconds for one in again))
    assert run.busy_seconds <= run.compiling_seconds * (1 + 1e-9)
    assert not any(process.problems for process in run.processes)

    page = (plain / "seen" / "watch.html").read_text()
    assert not re.search(r"(src|href)=|@import|url\(", page)
    page = re.sub("<h2>Profiles.*<h2>", "", page, flags=re.DOTALL)
    heads, rows = page.count("<th>"), page.count('<td data-name="id">')
    assert (heads, rows) == (5 + 10 + 8, len(run.compiles))
    assert page.count("<td data-name=") == 5 * len(run.savings) + 10 * rows + 8 * 4
    assert "shape of x: (600,) -&gt; (600, 2)" in page and "prefers-color-scheme: dark" in page


def test_the_compiles_of_an_interrupted_program_are_recorded(plain):
    (plain / "endless.py").write_text(ENDLESS)
    # The tests and their children ignore SIGINT if a shell started the tests in the background.
    interruptible = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    start = [sys.executable, "-c", interruptible + "os.execv(sys.executable, sys.argv[1:])"]
    command = [*start, sys.executable, "-m", "jaxmeter", "watch", "endless.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130, errors
    assert b"KeyboardInterrupt" in errors and b"by signal 2" in errors
    (one,) = [one for one in watched(plain / "jaxmeter-watch").compiles if not one.is_jax]
    assert one.id == "<lambda>#1"


def test_a_program_without_jax_that_prints_much_is_run_unchanged(plain, capfd, monkeypatch):
    (plain / "sitecustomize.py").write_text("import sys; sys.from_environment = True")
    (plain / "program.py").write_text("import sys; assert sys.from_environment\n" + NO_JAX)
    monkeypatch.setenv("PYTHONPATH", str(plain))
    assert main(["watch", sys.executable, "program.py"]) == 1
    printed = capfd.readouterr()
    assert len(printed.out) == 100_000_000
    assert "No module named 'a_module_that_is_not_there'" in printed.err
    assert "no process imported JAX (1 Python process)" in printed.err
    assert "check that JAX is installed there" in printed.err


def test_a_program_option_or_folder_that_cannot_be_used_is_bad_usage(plain, capfd):
    (plain / "program.py").write_text("print('this program ran')\n")
    assert main(["watch", "--", "a-program-that-is-not-there"]) == 2
    assert "got the program 'a-program-that-is-not-there'" in capfd.readouterr().err
    assert main(["watch"]) == 2
    assert main(["cache", ""]) == 2
    assert "cache: got no program" in capfd.readouterr().err
    assert main(["watch", "--profile", "-1", "program.py"]) == 2
    assert "got --profile=-1; give a whole number >= 0" in capfd.readouterr().err
    (plain / "file").touch()
    assert main(["watch", "--out", "file", "program.py"]) == 2
    printed = capfd.readouterr()
    assert "watch: --out: got 'file' (File exists)" in printed.err
    assert printed.out == ""  # the program did not run


@pytest.mark.parametrize(
    ("command", "line", "is_run_by_python"),
    [("a.py", "#!/bin/sh", True), ("./a.py", "", True), ("./a.py", "#!/bin/sh", False)],
)
def test_a_script_is_run_by_this_python_unless_it_is_a_path_with_a_shebang_line(
    command, line, is_run_by_python, plain
):
    (plain / "a.py").write_text(f"{line}\n")
    (plain / "a.py").chmod(0o755)
    python = [sys.executable] if is_run_by_python else []
    assert launch._argv([command, "b"], "watch") == [*python, command, "b"]


def test_the_cache_is_measured_and_each_miss_has_its_reason(plain, capfd):
    (plain / "cached.py").write_text(CACHED)
    assert main(["cache", "--json", "found.json", "cached.py"]) == 0
    found = CacheDiagnosis.from_json((plain / "found.json").read_bytes())
    programs = {one.id: one for one in found.programs}
    assert programs["same#1"].is_hit
    assert programs["stamped#1"].reason.startswith("the cache key changed, because the program")
    printing = programs["printing#1"]
    if jax.__version_info__ >= (0, 11):  # these versions store programs with host callbacks
        assert printing.is_hit
    else:
        assert printing.reason.startswith("it uses host callbacks")
    assert found.stored_count >= 2 and found.stored_bytes > 0
    assert "export JAX_COMPILATION_CACHE_DIR" in capfd.readouterr().err
    assert sorted(os.listdir(plain)) == ["cached.py", "found.json"]


def diagnosis(hit_seconds, *, exit_code=0, sets_options=False):
    """Return a diagnosis of two programs, f and g.

    f was read from the cache in ``hit_seconds``; if None, f was not read from the cache. g was
    compiled in both runs, in 2 s and in 1 s.
    """
    hit = CachedProgram("f#1", "", 3.0, hit_seconds, hit_seconds is not None, "")
    miss = CachedProgram("g#1", "", 2.0, 1.0, False, "it took < 5.00 seconds to compile")
    seconds = (9.0, 8.0, 5.0, 3.0, 10, 1)
    programs = (hit, miss)
    return CacheDiagnosis(("python",), exit_code, *seconds, programs, False, sets_options)


def test_only_programs_read_from_the_cache_save_time():
    assert diagnosis(0.5).saved_seconds == 2.5
    assert "saves no compile time: 5 s in" in jaxmeter.table(diagnosis(None))


def test_settings_are_suggested_unless_the_program_fails_or_sets_options_of_the_cache():
    text = jaxmeter.table(diagnosis(0.5))
    assert "saves 2.5 s of compile time" in text and "export JAX_COMPILATION_CACHE_DIR" in text
    text = jaxmeter.table(diagnosis(0.5, sets_options=True))
    assert "sets options of the cache in its code" in text and "export" not in text
    text = jaxmeter.table(diagnosis(0.5, exit_code=3))
    assert text.strip() == (
        "the program succeeded once, and failed in its second run with exit code 3"
    )
