r"""Measure time and memory of a function for several choices of its parameters.

A choice has one value for each parameter. This command measures six choices, each in two processes:

    python profiling/memory.py benchmarks.cases.field:external_field \
        -p workload=w7x -p digits=6 -p half_period=true \
        --vary chunk_size=256,1024,4096 --vary target_chunk_size=80,320 --rounds 2

Each choice runs in its own processes, because a process never returns all its memory to the system.
A choice is marked as one of the best (`is_front`) if every faster choice has larger temporaries.
Records are kept in the folder of --out. Run the same command again to resume. docs/tables.md
describes the columns.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import scripting
from jaxmeter import Case, JaxmeterError, Record, is_target, parse_parameter, resolve, run_case

SHOWN = {
    "memory": (
        *("parameters", "status", "seconds", "temp_bytes", "run_peak_bytes"),
        *("device_peak_bytes", "reserved_bytes", "is_front"),
    )
}

_DIGEST = """
import hashlib, os, pathlib, sys
target, *sys.path = sys.argv[1:]
import jaxmeter
jaxmeter.resolve(target)
files = {str(getattr(module, "__file__", None)) for module in list(sys.modules.values())}
paths = [pathlib.Path(file) for file in sorted(files) if file.endswith(".py")]
codes = [path.read_bytes() for path in paths if path.is_file()]
print(hashlib.sha256(b"".join(codes)).hexdigest(), end="", flush=True)
os._exit(0)  # exit handlers of the modules could print
"""


def observed(*, function: str, given: str) -> Case:
    """Return the case that `function` makes, with additional checks.

    The additional checks report statistics of the device's allocator. `given` has the parameters of
    `function` as a JSON object. Worker processes call `observed`.
    """
    from jaxmeter import tables as jt

    case = resolve(function, "memory")(**json.loads(given))
    if not isinstance(case, Case):
        raise JaxmeterError(
            f"{function} returned {type(case).__name__}; name a function that returns a "
            "jaxmeter.Case"
        )

    def check(answer) -> dict[str, float]:
        return {**(case.check(answer) if case.check else {}), **jt.allocator_checks()}

    return dataclasses.replace(case, check=check)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the command-line options."""
    target = "package.module:function or file.py:function; the function must return a jaxmeter.Case"
    parser = scripting.parser_of(__doc__, target=target)
    add = parser.add_argument
    add(
        "--vary",
        action="append",
        default=[],
        metavar="NAME=VALUE,VALUE",
        help="values of a parameter; repeat the option for other parameters: all combinations are "
        "measured",
    )
    add("--rounds", type=scripting.count, default=1, help="processes for each choice; default: 1")
    add(
        "--repeat",
        type=scripting.count,
        default=5,
        help="steady-state runs of a process; default: 5",
    )
    add("--timeout", type=float, default=300.0, help="limit for a process, seconds; default: 300")
    options = parser.parse_args(argv)
    why = (
        "this script does not use; name a function that makes a Case, and give the function's "
        "parameters with -p"
    )
    scripting.refuse(options, scripting.ARGUMENTS, why)
    if not is_target(options.target):
        raise JaxmeterError(
            f"got target={options.target!r}; give 'package.module:function' or 'file.py:function'"
        )
    return options


def choices(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return all choices: a dictionary of parameters for each combination of values."""
    varied = []
    for text in options.vary:
        name, _, values = text.partition("=")
        if not values or not all(values.split(",")):
            raise JaxmeterError(f"--vary: got {text!r}; give NAME=VALUE,VALUE")
        varied.append([parse_parameter(f"{name}={value}") for value in values.split(",")])
    names = [name for (name, _), *_ in varied]
    if len(set(names)) < len(names):
        raise JaxmeterError(
            f"--vary: got the parameters {', '.join(names)}; give each parameter once, as "
            "NAME=VALUE,VALUE"
        )
    fixed = dict(map(parse_parameter, options.param))
    found = [{**fixed, **dict(chosen)} for chosen in itertools.product(*varied)]
    texts = [json.dumps(point) for point in found]
    for text in texts:
        if texts.count(text) > 1:
            raise JaxmeterError(
                f"--vary: got the choice {text} twice; give each parameter and each value once"
            )
    return found


def label(point: dict[str, Any], points: Sequence[dict[str, Any]]) -> str:
    """Return the label of the choice `point`, with the parameters that differ between choices.

    `points` has all choices. If no parameter differs, the label has all parameters.
    """
    texts = [{name: json.dumps(value) for name, value in one.items()} for one in (point, *points)]
    names = [name for name in point if len({one[name] for one in texts}) > 1] or list(point)
    return " ".join(f"{name}={texts[0][name]}" for name in names)


def code_digest(target: str, timeout_seconds: float) -> str:
    """Return a digest of the Python files of all modules that are imported with `target`.

    If the modules cannot be imported in time, return another text in each call, so that no record
    is reused.
    """
    from benchmarks.measuring.plan import WORKER_ENVIRONMENT

    command = [sys.executable, "-c", _DIGEST, target, *sys.path]
    environment = os.environ | WORKER_ENVIRONMENT
    limit = min(timeout_seconds, 1e6)  # Python cannot wait for much longer times, such as infinity
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(command, env=environment, capture_output=True, timeout=limit)
        if done.returncode == 0:
            return done.stdout[-64:].decode()
    return os.urandom(32).hex()


def measured(
    points: Mapping[str, Any], store: Path, options: argparse.Namespace
) -> list[list[Record]]:
    """Measure choices in worker processes, and return the records of each choice.

    `points` maps the label of each choice to its parameters. Rounds of the choices are interleaved.
    A round with an ``ok`` record in the store is measured again only if vcjax, JAX, the machine, a
    module that is imported with the function, the parameters, ``--repeat`` or the environment
    variables of JAX and XLA have changed. Changes of data, of compiled modules, and of modules
    that are imported only when the function is called, are not noticed.
    """
    from benchmarks.measuring.checkout import code_version
    from benchmarks.measuring.plan import PlannedCase
    from benchmarks.measuring.runner import Progress, measure_plan
    from benchmarks.measuring.store import RecordStore

    # The settings of this process take precedence over the settings of the benchmarks' workers.
    settings = {name: os.environ[name] for name in os.environ if name.startswith(("JAX_", "XLA_"))}

    def run_here(case: Any) -> Record:
        scripting.say(f"memory: measuring {case.name}")
        path = (*case.path, str(scripting.HERE), os.getcwd())
        env = {**case.env, **settings, "JAX_ENABLE_COMPILATION_CACHE": "false"}
        return run_case(dataclasses.replace(case, path=path, env=env))

    code = code_digest(options.target, options.timeout)
    cases = []
    for name, point in points.items():
        params = {"function": options.target, "given": json.dumps(point)}
        decides = json.dumps([params, options.repeat, code, settings], sort_keys=True)
        digest = hashlib.sha256(decides.encode()).hexdigest()[:8]
        case = PlannedCase(
            name=f"{scripting.plain(name)[:80]}-{digest}".lstrip("-"),
            target="memory:observed",
            params=params,
            rounds=options.rounds,
            repeat=options.repeat,
            timeout_seconds=options.timeout,
        )
        cases.append(case)
    kept = RecordStore(store / code_version())
    progress = Progress(options.rounds * len(points), scripting.say)
    measure_plan(cases, kept, progress, run_case=run_here)
    rounds = range(options.rounds)
    return [[record for i in rounds if (record := kept.read(case, i))] for case in cases]


def work(argv: Sequence[str] | None) -> bool:
    """Measure all choices, save and print the table, and return whether all could be measured."""
    options = parse(argv)
    folder = scripting.folder_for(options, "memory", options.target)
    from jaxmeter import tables as jt

    points = choices(options)
    named = {label(point, points): point for point in points}
    records = measured(named, folder / "cases", options)
    table = jt.memory_table(list(map(jt.Point, points, records)))
    every, source = itertools.chain(*records), str(folder / "cases")
    scripting.save({"memory": table}, folder, live=False, records=every, source=source)
    names = [label(json.loads(text), points) for text in table["parameters"]]
    scripting.show({"memory": table.assign(parameters=names)}, SHOWN, options.top)
    failed = table.query("status != 'ok'").to_dict("records")
    for row in failed:
        scripting.say(f"memory: {row['parameters']}: {row['status']}: {row['failure']}")
    return not failed


main = partial(scripting.run, "memory", work)

if __name__ == "__main__":
    sys.exit(main())
