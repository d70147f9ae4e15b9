"""Record the measurements that the lessons show: ``python -m workshop.record``.

The measurements take about five minutes. With recorded numbers, nobody has to wait in a lesson, and
all participants see the same numbers.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path

import jaxmeter

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).parent / "recorded"
PROCESSES = 12
COMMITS, SLOWER_FROM, PROCESSES_A_COMMIT = 20, 12, 3


def measured(name: str, *, repeat: int = 30, **params: bool) -> jaxmeter.Record:
    """Measure `repeat` calls of `selu` or `selu_and_more` in a fresh process; return the record.

    `params` are the arguments of `workshop.programs.activation`, which chooses the function.
    """
    target = "workshop.programs:activation"
    case = jaxmeter.BenchmarkCase(name, target, {**params}, repeat=repeat, path=(str(ROOT),))
    record = jaxmeter.run_case(case)
    if record.status != "ok":
        raise RuntimeError(
            f"{name} could not be measured ({record.status}): {record.failure}; fix this error, "
            "then run python -m workshop.record again"
        )
    return record


def write(name: str, record: jaxmeter.Record, samples: list[list[float]]) -> None:
    """Write lists of seconds to a JSON file, each list on its own line.

    The seconds are rounded to four significant digits. The file also has the version of JAX, the
    processor and the start time of `record`.
    """
    where = record.environment
    assert where is not None
    environment = {"jax": where.jax, "cpu": where.cpu_model, "from": where.started_utc}
    lines = ",\n  ".join(json.dumps([float(f"{s:.4g}") for s in row]) for row in samples)
    text = f'{{"environment": {json.dumps(environment)},\n "seconds": [\n  {lines}\n ]}}\n'
    (FOLDER / name).write_text(text)


def history() -> None:
    """Measure a made-up history of commits, and write the median time of each process.

    From commit number `SLOWER_FROM` onwards, the commits use the slower function.
    """
    rounds = [
        [measured("history", repeat=200, slower=n >= SLOWER_FROM) for n in range(COMMITS)]
        for _ in range(PROCESSES_A_COMMIT)
    ]
    commits = zip(*rounds, strict=True)
    medians = [[statistics.median(r.samples_seconds) for r in commit] for commit in commits]
    write("history.json", rounds[0][0], medians)


def identical() -> None:
    """Measure `selu` in several processes, and write the times of all calls."""
    records = [measured("identical processes") for _ in range(PROCESSES)]
    write("identical.json", records[0], [list(r.samples_seconds) for r in records])


def comparisons() -> None:
    """Compare `selu` with itself, then with the slower function; write both comparisons."""
    effort = jaxmeter.Effort(turns=25, steady_seconds=0.5, compiles=1)
    for name, slower in (("equal", "false"), ("slower", "true")):
        sides = [
            jaxmeter.Side("workshop.programs:activation", param=(f"slower={of}",))
            for of in ("false", slower)
        ]
        found = jaxmeter.compare(*sides, effort=effort, path=[str(ROOT)])
        (FOLDER / f"comparison_{name}.json").write_text(found.to_json() + "\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Make all measurements."""
    argparse.ArgumentParser(prog="python -m workshop.record", description=__doc__).parse_args(argv)
    identical()
    history()
    comparisons()


if __name__ == "__main__":
    main()
