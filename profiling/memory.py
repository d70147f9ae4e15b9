"""What memory a function takes over choices of its parameters, and which are best in time against
memory.

    python profiling/memory.py benchmarks.cases.field:external_field \
        -p workload=w7x -p digits=6 -p half_period=true \
        --vary chunk_size=256,1024,4096 --vary target_chunk_size=80,320 --rounds 2

Each choice runs in processes of its own, for a process never gives back what it took. What is
measured is kept in --out, so that an interrupted command goes on. docs/tables.md tells the columns.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import sys
from collections.abc import Sequence
from typing import Any

import scripting
from jaxmeter import TARGET_HELP, Case, JaxmeterError, is_target, parse_parameter, resolve

SHOWN = {
    "memory": (
        *("parameters", "status", "seconds", "temp_bytes", "run_peak_bytes"),
        *("device_peak_bytes", "reserved_bytes", "is_front"),
    )
}


def observed(*, function: str, given: str):
    """In a worker: the case that a target makes, its check telling of the allocator too."""
    from jaxmeter.tables import allocator_checks

    case = resolve(function, "memory")(**json.loads(given))
    if not isinstance(case, Case):
        raise JaxmeterError(f"{function} returned {type(case).__name__}; return jaxmeter.Case")

    def check(answer) -> dict[str, float]:
        return {**(case.check(answer) if case.check else {}), **allocator_checks()}

    return dataclasses.replace(case, check=check)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options, those of --vary as names with their values."""
    parser = scripting.parser_of(__doc__, target=TARGET_HELP)
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="NAME=VALUE,VALUE",
        help="values of a parameter; with several, all combinations",
    )
    parser.add_argument("--rounds", type=int, default=1, help="processes of each choice")
    parser.add_argument("--repeat", type=int, default=5, help="steady-state runs in each")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for each process")
    options = parser.parse_args(argv)
    if options.arg or options.npz or options.pickle:
        raise JaxmeterError(
            "memory: got --arg, --npz or --pickle; name a function that makes a Case, with -p"
        )
    if not is_target(options.target):
        raise JaxmeterError(f"got target={options.target!r}; give 'package.module:function'")
    if options.rounds < 1 or options.repeat < 1:
        raise JaxmeterError(
            f"got --rounds {options.rounds}, --repeat {options.repeat}; give 1 or more"
        )
    return options


def choices(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All combinations of the parameters."""
    varied = []
    for text in options.vary:
        name, _, values = text.partition("=")
        if not values or not all(values.split(",")):
            raise JaxmeterError(f"--vary: got {text!r}; give NAME=VALUE,VALUE")
        varied.append([parse_parameter(f"{name}={value}") for value in values.split(",")])
    fixed = dict(map(parse_parameter, options.param))
    found = [{**fixed, **dict(chosen)} for chosen in itertools.product(*varied)]
    texts = [json.dumps(one) for one in found]
    twice = next((text for text in texts if texts.count(text) > 1), None)
    if twice is not None:
        raise JaxmeterError(f"--vary: got {twice} twice; give each value once")
    return found


def label(point: dict[str, Any], points: Sequence[dict[str, Any]]) -> str:
    """What tells a choice from the others; of a single one all of it."""
    texts = [{name: json.dumps(value) for name, value in one.items()} for one in (point, *points)]
    names = [name for name in point if len({one[name] for one in texts}) > 1] or list(point)
    return " ".join(f"{name}={texts[0][name]}" for name in names)


def work(argv: Sequence[str] | None) -> bool:
    """Measure what is not measured yet, print, save; whether all choices could be measured."""
    options = parse(argv)
    folder = scripting.folder_for(options, "memory", options.target)
    from jaxmeter import tables as artefacts

    points = choices(options)
    records = scripting.measured(
        {label(one, points): one for one in points},
        folder / "cases",
        target="memory:observed",
        params=lambda one: {"function": options.target, "given": json.dumps(one)},
        rounds=options.rounds,
        repeat=options.repeat,
        timeout_seconds=options.timeout,
    )
    table = artefacts.memory_table(
        [artefacts.Point(one, found) for one, found in zip(points, records, strict=True)]
    )
    every = [record for found in records for record in found]
    cases = str(folder / "cases")
    scripting.save({"memory": table}, folder, live=False, records=every, artefact=cases)
    names = [label(json.loads(text), points) for text in table["parameters"]]
    scripting.show({"memory": table.assign(parameters=names)}, SHOWN, options.top)
    failed = [row for row in table.to_dict("records") if row["status"] != "ok"]
    for row in failed:
        scripting.say(f"memory: {row['parameters']}: {row['status']}: {row['failure']}")
    return not failed


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    return scripting.run("memory", lambda: work(argv))


if __name__ == "__main__":
    sys.exit(main())
