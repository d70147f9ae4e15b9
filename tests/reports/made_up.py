"""Make records and stores: the numbers are invented, but the records are objects of jaxmeter."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from jaxmeter import (
    ConstantArray,
    Constants,
    Counts,
    Environment,
    Failure,
    Memory,
    Phases,
    Program,
    Record,
)
from reports import read_store, tables

COMMIT = "1234567890abcdef1234567890abcdef12345678"
KEY = "py3.11-jax0.10.2-cpu"
CASING_BYTES = {3: 1_800_000, 6: 14_700_000, 9: 61_000_000, 12: 163_000_000}
WOBBLE = (1.0, 1.02, 0.985, 1.01, 0.99, 1.035)
ERRORS = {3: 1.6e-4, 6: 1.9e-7, 9: 7.4e-10, 12: 1.3e-11}


def environment(**changes: Any) -> Any:
    values: dict[str, Any] = {
        "python": "3.11.2",
        "jax": "0.10.2",
        "jaxlib": "0.10.2",
        "numpy": "2.4.6",
        "jaxmeter": "0.1.0",
        "platform": "Linux-6.1-x86_64",
        "machine": "bench",
        "cpu_model": "Example CPU @ 2.9 GHz",
        "cpus_available": 2,
        "ram_bytes": 24_000_000_000,
        "backend": "cpu",
        "device_kind": "cpu",
        "device_count": 1,
        "xla_flags": "",
        "started_utc": "2026-11-20T10:00:00+00:00",
        "load_1min_before": 0.4,
        "load_1min_after": 1.1,
        "jax_options": {"jax_enable_x64": True},
    }
    return Environment(**(values | changes))


def record(
    name: str,
    params: Mapping[str, Any],
    *,
    round_index: int = 0,
    compile_seconds: float = 2.0,
    steady_seconds: float = 0.1,
    captured_bytes: int = 0,
    embedded_bytes: int = 0,
    hidden_argument_bytes: int = 0,
    temp_bytes: int = 20_000_000,
    checks: Mapping[str, float] | None = None,
    extras: Mapping[str, float] | None = None,
    repeat: int = 5,
) -> Record:
    wobble = WOBBLE[round_index % len(WOBBLE)]
    steps = (1.0, 1.01, 0.99, 1.03, 0.995)
    return Record(
        name=name,
        status="ok",
        target="benchmarks.cases.field:made_up",
        params=dict(params),
        phases=Phases(
            trace_seconds=0.21 * wobble,
            lower_seconds=0.12 * wobble + captured_bytes * 1e-9,
            compile_seconds=compile_seconds * wobble,
            first_call_seconds=1.4 * steady_seconds,
        ),
        setup_seconds=0.8,
        samples_seconds=tuple(steady_seconds * wobble * steps[i % 5] for i in range(repeat)),
        constants=Constants(
            captured_bytes=captured_bytes,
            captured_count=1 if captured_bytes else 0,
            embedded_bytes=embedded_bytes,
            embedded_count=1 if embedded_bytes else 0,
            hidden_argument_bytes=hidden_argument_bytes,
            hidden_argument_count=1 if hidden_argument_bytes else 0,
            folding_alarms_count=0,
            arrays=(ConstantArray((captured_bytes // 8,), "float64", captured_bytes, "jit(f)"),)
            if captured_bytes
            else (),
        ),
        counts=Counts(1, 1, 1, 0),
        program=Program(420, 1310, 96, 3.1e9, 4.2e8, "ab" * 20),
        memory=Memory(
            argument_bytes=460_000,
            output_bytes=19_200,
            temp_bytes=temp_bytes,
            alias_bytes=0,
            generated_code_bytes=0,
            baseline_rss_bytes=410_000_000,
            compile_peak_rss_bytes=520_000_000 + 6 * embedded_bytes,
            peak_rss_bytes=560_000_000 + 6 * embedded_bytes,
        ),
        checks={"error_relative": 1e-7} if checks is None else dict(checks),
        extras=dict(extras or {}),
        environment=environment(started_utc=f"2026-11-20T10:{round_index:02d}:00+00:00"),
        wall_seconds=6.0,
    )


def in_environment(entry: Record, **changes: Any) -> Record:
    return dataclasses.replace(entry, environment=environment(**changes))


def failed(name: str, params: Mapping[str, Any], *, status: str = "failed", **failure: str) -> Any:
    reason = {"phase": "compile", "kind": "Timeout", "message": "over 60 s"} | failure
    return Record(
        name=name,
        status=status,  # pyright: ignore[reportArgumentType]
        params=dict(params),
        failure=Failure(**reason),
        phases=Phases(trace_seconds=0.2),
        environment=environment(),
    )


def casing_case(variant: str, digits: int, round_index: int = 0, **changes: Any) -> Any:
    total = CASING_BYTES[digits]
    closed, embedded = variant != "argument", variant == "closure"
    noise = WOBBLE[(5 * round_index + len(variant)) % len(WOBBLE)]
    steady = 0.004 * 4.0 ** (digits / 3)
    values: dict[str, Any] = {
        # Variants have different wobbles, so their times differ even if they capture no bytes.
        "compile_seconds": noise * (1.6 + 0.2 * digits + (14e-9 * total if embedded else 0)),
        "steady_seconds": steady * noise,
        "captured_bytes": total if closed else 96,
        "embedded_bytes": {"closure": total + 4096, "argument": 96}.get(variant, 0),
        "hidden_argument_bytes": total if variant == "simplified" else 0,
        "temp_bytes": 3_000_000 * digits,
        "checks": {"error_relative": ERRORS[digits]},
        "extras": {"casing_bytes": float(total)},
    }
    params = {"workload": "w7x", "variant": variant, "digits": digits, "half_period": True}
    name = f"casing_variants/w7x-{variant}-d{digits}"
    return record(name, params, round_index=round_index, **(values | changes))


def chunk_case(chunk: Any, target: Any, round_index: int = 0, **changes: Any) -> Record:
    sizes: dict[Any, int] = {"auto": 1024, None: 8192}
    c, t = (sizes[size] if size in sizes else int(size) for size in (chunk, target))
    values: dict[str, Any] = {
        "steady_seconds": 0.02 * (1 + abs(c - 2048) / 9000 + abs(t - 80) / 2000),
        "temp_bytes": 24 * c * t + 1_000_000,
        "checks": {"error_relative": 1.6e-4},
    }
    values["steady_seconds"] *= WOBBLE[(5 * round_index + len(f"{chunk}{target}")) % len(WOBBLE)]
    params = {"workload": "w7x", "digits": 3, "half_period": True}
    params |= {"chunk_size": chunk, "target_chunk_size": target}
    name = f"chunk_sweep/w7x-d3-c{chunk}-t{target}"
    return record(name, params, round_index=round_index, **(values | changes))


def reference_case(digits: int, round_index: int = 0, **changes: Any) -> Record:
    steady = 0.004 * 4.0 ** (digits / 3)
    extras = {
        "choose_seconds": 0.05,
        "prepare_seconds": 2.1 * steady,
        "prepare_compile_seconds": 3.1,
        "tables_seconds": 0.02,
        "casing_bytes": float(CASING_BYTES[digits]),
    }
    # Only the times of the reference vary, so the ratios have a range.
    theirs = steady / WOBBLE[round_index % len(WOBBLE)]
    checks = {
        "error_relative": ERRORS[digits],
        "setup_seconds": 0.07 + 3.1 * steady,
        "reference_setup_seconds": 30 * theirs,
        "evaluation_seconds": steady,
        "reference_evaluation_seconds": (5.0 + digits / 6) * theirs,
        "cpu_per_wall": 1.0,
        "reference_cpu_per_wall": 0.998,
        "reference_error_relative": ERRORS[digits] * 1.1,
    }
    params = {"workload": "w7x", "digits": digits, "half_period": True}
    values: dict[str, Any] = {"steady_seconds": steady, "checks": checks, "extras": extras}
    name = f"against_reference/w7x-d{digits}"
    return record(name, params, round_index=round_index, **(values | changes))


def gradient_reference_case(digits: int, round_index: int = 0) -> Record:
    field = reference_case(digits, round_index)
    checks = {
        name.replace("error", "gradient_error"): value * (20 if "error" in name else 3)
        for name, value in field.checks.items()
    }
    name = field.name.replace("against", "gradient_against")
    return dataclasses.replace(field, name=name, checks=checks)


def preparation_case(digits: int, **changes: Any) -> Record:
    values: dict[str, Any] = {
        "steady_seconds": 0.05 * digits**2,
        "checks": {"casing_bytes": float(CASING_BYTES[digits])},
        "extras": {"choose_seconds": 0.03, "tables_seconds": 0.01 * digits},
    }
    params = {"workload": "w7x", "digits": digits, "half_period": True}
    return record(f"casing_preparation/w7x-d{digits}", params, **(values | changes))


def write(root: Path, entry: Record, round_index: int = 0, *, commit: str = COMMIT) -> Path:
    path = root / commit / KEY / entry.name / f"{round_index}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(entry.to_json(), encoding="utf-8")
    return path


def measured(root: Path) -> pd.DataFrame:
    return tables.measurements(read_store(root))


def write_full(root: Path) -> Path:
    """Write a store of five suites, in which one case timed out, and return the store's folder."""
    for i in range(6):
        for digits in (3, 6, 9, 12):
            for variant in ("closure", "argument", "simplified"):
                write(root, casing_case(variant, digits, i), i)
        for chunk in (256, 1024, 4096, None, "auto"):
            for target in (20, 80, 320, "auto"):
                if (chunk == "auto") == (target == "auto"):
                    write(root, chunk_case(chunk, target, i), i)
        for digits in (6, 9, 12):
            write(root, reference_case(digits, i), i)
        write(root, gradient_reference_case(6, i), i)
    for digits in (3, 6, 9, 12):
        write(root, preparation_case(digits))
    params = {"workload": "w7x", "variant": "closure", "digits": 12, "half_period": False}
    write(root, failed("casing_variants/w7x-full-closure-d12", params, status="timeout"))
    return root
