"""What the runs of the detection study amount to: what was found, and what was not there.

A *find* is the regression's own metric, worse in a case that the regression acts on. Everything
that cannot come from it is a false alarm: anything at all that is told of equal commits, whether
worse, better or changed; what is told of cases that it does not touch; and, where it leaves the
program as it is, every metric but its own in the others.
"""

import csv
from dataclasses import asdict, dataclass

EQUAL = "equal"
SMALLEST = "casing_variants/w7x-argument-d3"
# Cases that regressions in the evaluation of the field do not touch.
UNTOUCHED = ("casing_preparation/", "memory_sweep/gradient")
TOLD = ("worse", "better", "changed")


@dataclass(frozen=True)
class Plant:
    """A regression of studies/detection/injected.

    Attributes
    ----------
    found_by : tuple of str
        Metrics of which one must become worse, or the name of the error that breaks a case.
    exact_case : str or None
        The smallest case in which something exact shows it.
    explains : tuple of str or None
        Metrics that it makes worse besides; None where it changes the program, which may explain
        any of the same case.
    """

    found_by: tuple[str, ...]
    exact_case: str | None = None
    explains: tuple[str, ...] | None = None


PLANTS = {
    "captured_array": Plant(("captured_bytes", "embedded_bytes"), SMALLEST),
    "chunk_size": Plant(("temp_bytes", "steady_median_seconds"), SMALLEST),
    "float32_slip": Plant(("error_relative", "WrongAnswer"), "casing_variants/w7x-argument-d9"),
    "more_scratch": Plant(("temp_bytes",), SMALLEST),
    "retrace": Plant(("RetraceError",), SMALLEST),
    "slower_compile": Plant(("build_seconds",), explains=("compile_seconds",)),
    "slower_run": Plant(("steady_median_seconds",)),
}


@dataclass(frozen=True)
class Row:
    """One run: what the review and asv said of the same records, joined by semicolons.

    Finds are cases; alarms are "case metric verdict".
    """

    planted: str
    setting: str
    tested_count: int
    verdict: str
    found_in: str
    false_alarms: str
    asv_found_in: str
    asv_false_alarms: str


def row(name, review, beside):
    """One run's row.

    Parameters
    ----------
    name : str
        Of the regression, or "equal".
    review : dict
        Its review.json.
    beside : list of (str, str)
        (case, metric) of what asv calls worse.
    """
    told = [(f["case"], f["metric"], f["verdict"]) for f in review["findings"]]
    lost = [entry for entry in review["not_compared"] if entry["is_worse"]]
    told += [(entry["case"], entry["failure_kind"], "worse") for entry in lost]
    asv = [(case, metric, "worse") for case, metric in beside]
    return Row(
        planted=name,
        setting=review["setting"],
        tested_count=review["tested_count"],
        verdict=review["verdict"],
        found_in="; ".join(found_in(name, told)),
        false_alarms="; ".join(false_alarms(name, told)),
        asv_found_in="; ".join(found_in(name, asv)),
        asv_false_alarms="; ".join(false_alarms(name, asv)),
    )


def found_in(name, told):
    """The cases that the regression touches where its own metric became worse."""
    own = PLANTS[name].found_by if name in PLANTS else ()
    found = [c for c, m, verdict in told if verdict == "worse" and m in own]
    return list(dict.fromkeys(case for case in found if not case.startswith(UNTOUCHED)))


def false_alarms(name, told):
    """What was told and cannot be there, as "case metric verdict"."""
    return [f"{c} {m} {v}" for c, m, v in told if v in TOLD and not _is_explained(name, c, m)]


def _is_explained(name, case, metric):
    if name == EQUAL or case.startswith(UNTOUCHED):
        return False
    plant = PLANTS[name]
    return plant.explains is None or metric in plant.found_by + plant.explains


def markdown(rows):
    """The study: a line for each regression, and every false alarm in words."""
    alarms = []
    for name, runs in _by_name(rows).items():
        for who, what in (("", "false_alarms"), ("asv, ", "asv_false_alarms")):
            told = [(k, getattr(one, what)) for k, one in enumerate(runs)]
            words = f"{who}{name.replace('_', ' ')}"
            alarms += [f"- {words}, run {k}: {alarm}" for k, alarm in told if alarm]
    return table(rows) + "\n".join(["", *alarms, ""] if alarms else [])


def table(rows):
    """A line for each regression: in how many runs it was found, and there were false alarms."""
    lines = [
        "| Planted | Runs | Found | False alarms in | asv finds | asv's false alarms in |",
        "| :-- | --: | --: | --: | --: | --: |",
    ]
    for name, runs in _by_name(rows).items():
        counts = [
            sum(bool(getattr(one, what)) for one in runs)
            for what in ("found_in", "false_alarms", "asv_found_in", "asv_false_alarms")
        ]
        shown = ["–", counts[1], "–", counts[3]] if name == EQUAL else counts
        lines.append(f"| {' | '.join(map(str, (name.replace('_', ' '), len(runs), *shown)))} |")
    return "\n".join(lines) + "\n"


def _by_name(rows):
    return {
        name: [one for one in rows if one.planted == name] for name in (r.planted for r in rows)
    }


def write_csv(path, commit, rows):
    """A line for each run."""
    with open(path, "w", encoding="utf-8", newline="") as stream:
        lines = [{"commit": commit, **asdict(one)} for one in rows]
        columns = list(lines[0]) if lines else ["commit"]
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def read_csv(path):
    """The rows that `write_csv` has written."""
    with open(path, encoding="utf-8", newline="") as stream:
        lines = [
            {k: v for k, v in line.items() if k != "commit"} for line in csv.DictReader(stream)
        ]
    return [Row(**{**line, "tested_count": int(line["tested_count"])}) for line in lines]
