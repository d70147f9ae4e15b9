"""A compile profile divides the elapsed time among stages, lines and kernels."""

import asyncio
import json
import re
import signal
import sys
import threading
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
from jaxmeter import CompileProfile
from jaxmeter._compile.trace_lines import Sampler

X = jnp.linspace(0.5, 1.5, 64)
TABLE = np.random.default_rng(0).normal(size=(24, 24))

# The tests' quick emitters compile a program as one module, without kernels.
OPTIONS = {"xla_cpu_use_fusion_emitters": True} if jax.__version_info__ < (0, 11) else {}


def profiled(fn, *args, **kwargs):
    """Profile a function with the default emitters of JAX."""
    case = jaxmeter.Case(fn, args, kwargs, jit_options={"compiler_options": OPTIONS})
    return jaxmeter.compile_profile(case)


def here(text):
    """Return the place of the line with a text, such as ``/path/test_profile.py:12``."""
    lines = Path(__file__).read_text().splitlines()
    return f"{__file__}:{next(n for n, line in enumerate(lines, 1) if text in line)}"


def helper(x):
    return jnp.where(x > 1, jnp.sin(x), x)  # the line of the helper


def program(x):
    with jax.named_scope("layer"):
        for k in range(8):
            x = jnp.roll(helper(x), k) * (k + 1.0)  # the line of the loop
    return jnp.sort(jnp.asarray(TABLE), axis=0)[0, 0] * x  # the folded line


@pytest.fixture(scope="module")
def profile():
    return profiled(program, X)


def test_the_rows_of_a_profile_sum_to_the_elapsed_time_and_lines_to_the_attributed_share(profile):
    total = sum(row.seconds for row in profile.rows)
    assert total == pytest.approx(profile.seconds, rel=1e-6)
    compiled = sum(row.seconds for row in profile.rows if row.stage not in ("trace", "lower"))
    assert compiled == pytest.approx(profile.compile_seconds, rel=1e-6)
    known = sum(line.seconds for line in profile.lines)
    assert known == pytest.approx(profile.attributed_share * total, rel=1e-6)
    assert 0 < profile.measured_share < profile.attributed_share <= 1
    assert any(not row.source and row.basis == "unattributed" for row in profile.rows)
    assert CompileProfile.from_json(profile.to_json()) == profile


class RecordingSampler(Sampler):
    takers: set

    def _sample(self, number, frame):
        self.takers.add(threading.current_thread())
        super()._sample(number, frame)


def sampled(sampler, traces=30):
    """Trace a program many times; return the threads that took samples."""
    sampler.takers = set()
    interval = sys.getswitchinterval()
    with sampler.sampling():
        for _ in range(traces):
            jax.jit(lambda x: program(x)).trace(X)
    assert sys.getswitchinterval() == interval
    return sampler.takers


def test_the_main_thread_takes_its_samples_itself():
    # CPython 3.11 can crash if another thread reads the frames of a running thread.
    sampler = RecordingSampler()
    assert sampled(sampler) == {threading.main_thread()}
    assert here("# the line of the loop") in {p.source for stack in sampler.stacks for p in stack}
    assert signal.getsignal(signal.SIGURG) is signal.SIG_DFL


def test_a_program_that_handles_the_signal_keeps_its_handler_and_gets_no_samples():
    def handler(number, frame):
        raise AssertionError("a sample was requested")

    before = signal.signal(signal.SIGURG, handler)
    try:
        assert not sampled(RecordingSampler(), traces=5)
        assert signal.getsignal(signal.SIGURG) is handler
    finally:
        signal.signal(signal.SIGURG, before)


def test_an_event_loop_that_waits_for_signals_is_not_woken():
    async def traced():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)
        return sampled(RecordingSampler(), traces=5)

    assert not asyncio.run(traced())


def test_an_error_while_tracing_leaves_no_handler():
    with pytest.raises(ZeroDivisionError), Sampler().sampling():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGURG) is signal.SIG_DFL


def test_in_another_thread_the_trace_is_divided_by_equations():
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(profiled, lambda x: program(x), X).result()
    assert {row.basis for row in found.rows if row.stage == "trace"} == {"by equations"}
    traced = sum(row.seconds for row in found.rows if row.stage == "trace")
    assert traced == pytest.approx(found.trace_seconds, rel=1e-6)


def test_equations_are_counted_by_line_as_in_the_jaxpr(profile):
    counts = {line.source: line.equations_count for line in profile.lines}
    whole = jaxmeter.inventory(program, X).program.jaxpr_equations_count
    assert sum(counts.values()) == whole
    # A comparison, a sine and jit(_where) with a selection, eight times.
    assert counts[here("# the line of the helper")] == 8 * 4


@pytest.mark.cpu
def test_kernels_have_scope_primitive_and_line(profile):
    kernels = [kernel for kernel in profile.kernels if kernel.scope == "layer"]
    lines = {here("# the line of the helper"), here("# the line of the loop")}
    if jax.__version_info__ < (0, 8):  # its programs name the line of jnp.roll's first call
        assert lines & {kernel.source for kernel in kernels}
    else:
        assert kernels and {kernel.source for kernel in kernels} <= lines
    assert all(kernel.primitive and kernel.operations for kernel in kernels)
    assert profile.unpaired_kernels_count == 0
    assert all(kernel.llvm_seconds > 0 for kernel in profile.kernels)


def two_products(a, b, x):
    y = jnp.tanh(a @ x)  # the line of the first product
    return jnp.exp(b @ y)  # the line of the second product


@pytest.mark.cpu
def test_kernels_of_matrix_vector_products_have_the_lines_of_the_products():
    ones = jnp.ones((300, 300))
    found = profiled(two_products, ones, ones, jnp.ones(300))
    products = [kernel for kernel in found.kernels if "dot" in kernel.operations]
    lines = {here("# the line of the first product"), here("# the line of the second product")}
    assert {kernel.source for kernel in products} == lines
    assert {kernel.primitive for kernel in products} == {"dot_general"}


LAYERS = """
import jax
import jax.numpy as jnp

def dense(weights, x):
    return jnp.tanh(weights @ x)

@jax.jit
def jitted(weights, x):
    return jax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(weights @ y), x)

def closed(weights, x):
    return jax.jit(lambda x: weights @ x)(x)
"""


def two_layers(a, b, x):
    y = PACKAGE["dense"](a, x)  # the line of the first layer
    return PACKAGE["dense"](b, y)  # the line of the second layer


PACKAGE: dict = {}
exec(compile(LAYERS, "/usr/lib/python3/site-packages/layers.py", "exec"), PACKAGE)


@pytest.mark.cpu
def test_lines_that_call_the_same_line_of_a_package_are_told_apart():
    found = profiled(two_layers, jnp.ones((200, 300)), jnp.ones((100, 200)), jnp.ones(300))
    lines = {here("# the line of the first layer"), here("# the line of the second layer")}
    assert {line.source: line.equations_count for line in found.lines if line.equations_count} == {
        line: 2 for line in lines
    }
    if jax.__version_info__ < (0, 8):  # its programs name only the line of the package
        lines = {"/usr/lib/python3/site-packages/layers.py:6"}
    assert {kernel.source for kernel in found.kernels if kernel.primitive == "tanh"} == lines
    assert {line.source for line in found.lines if line.kernels_count} == lines


def solved(a, x):
    return PACKAGE["jitted"](a, x) + 1.0  # the line of the solver


@pytest.mark.cpu
def test_a_jitted_function_of_a_package_belongs_to_the_line_that_calls_it():
    found = profiled(solved, jnp.ones((300, 300)), jnp.ones(300))
    assert {line.source for line in found.lines} == {here("# the line of the solver")}
    assert "sine" in {name for kernel in found.kernels for name in kernel.operations}
    calls = found.stacks[here("# the line of the solver")]
    assert calls == (f"solved {here('# the line of the solver')}",)


def test_an_array_in_a_jitted_function_of_a_package_is_used_at_the_line_that_calls_it():
    def solved(x):
        return PACKAGE["closed"](TABLE, x) + 1.0  # the line of the table

    (array,) = jaxmeter.audit(solved, jnp.ones(24)).arrays
    assert [f"{use.file}:{use.line}" for use in array.uses] == [here("# the line of the table")]


@pytest.mark.cpu
def test_generated_code_belongs_to_the_line_that_calls_it():
    generated: dict = {"jnp": jnp}
    exec(compile("def called(x): return jnp.sin(x @ x)", "<string>", "exec"), generated)

    def calling(x):
        return generated["called"](x)  # the line that calls generated code

    found = profiled(calling, jnp.ones((300, 300)))
    line = here("# the line that calls generated code")
    assert {one.source for one in found.lines} == {line}
    # If all code is generated, as in python -c, its own lines are shown.
    (found,) = profiled(generated["called"], jnp.ones((300, 300))).lines
    assert found.source == "<string>:1"


@pytest.mark.cpu
def test_constant_folding_has_its_line(profile):
    (folded,) = {row.source for row in profile.rows if row.stage == "constant folding"}
    assert folded == here("# the folded line")
    assert profile.passes["constant_folding"] == pytest.approx(
        profile.stage_seconds("constant folding")
    )


@pytest.mark.cpu
def test_the_sheet_has_stages_lines_kernels_and_the_unattributed_rest(profile):
    text = jaxmeter.table(profile)
    assert re.search(r"^  LLVM +\S+ \w+ +\S+ %  measured", text, re.MULTILINE)
    assert "(unattributed)" in text and "x = jnp.roll(helper(x), k)" in text


def test_the_boxes_of_the_flame_graph_fill_a_page_that_works_offline(profile):
    page = profile.to_flame_graph()
    assert "http" not in page.replace("http://www.w3.org", "") and "<script" not in page
    svg = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    widths = {}
    for rectangle in svg.iter("rect"):
        width = float(rectangle.get("width", "").rstrip("%"))
        widths[rectangle.get("y")] = widths.get(rectangle.get("y"), 0.0) + width
    assert widths["0"] == pytest.approx(100.0, abs=0.3)
    assert max(widths.values()) < 100.1
    titles = [title.text or "" for title in svg.iter("title")]
    assert any(title.startswith("program ") for title in titles)


def test_speedscope_has_the_seconds_of_every_row(profile):
    data = json.loads(profile.to_speedscope())
    (drawn,) = data["profiles"]
    assert sum(drawn["weights"]) == pytest.approx(profile.seconds, rel=1e-6)
    names = [frame["name"] for frame in data["shared"]["frames"]]
    assert {number for sample in drawn["samples"] for number in sample} == set(range(len(names)))
    assert any(frame.get("file") == __file__ for frame in data["shared"]["frames"])


def test_the_tables_have_the_rows_of_the_profile(profile):
    tables = pytest.importorskip("jaxmeter.tables").compile_tables(profile)
    assert tables["compile_rows"]["seconds"].sum() == pytest.approx(profile.seconds, rel=1e-6)
    assert len(tables["compile_kernels"]) == len(profile.kernels)
    assert list(tables["compile_lines"]["source"]) == [line.source for line in profile.lines]


@pytest.mark.cpu
def test_jitted_functions_cases_and_shapes_are_profiled():
    scale = jax.jit(lambda x, n: n * x, static_argnames="n", compiler_options=OPTIONS)
    scale(X, n=2)
    case = jaxmeter.Case(scale, (jax.ShapeDtypeStruct((3,), "float32"),), {"n": 2})
    found = jaxmeter.compile_profile(case)
    assert found.kernels and found.name == "<lambda>"
    assert sum(line.equations_count for line in found.lines) > 0


@pytest.mark.cpu
def test_the_persistent_cache_is_not_used_and_stays_enabled(persistent_cache):
    assert profiled(lambda x: x + 1.0, X).kernels
    assert not list(persistent_cache.iterdir())
    assert jax.config.jax_enable_compilation_cache  # type: ignore[attr-defined]


@pytest.mark.skipif(jax.__version_info__ >= (0, 11), reason="this JAX has no other emitters")
def test_the_compile_time_of_a_program_without_kernels_is_divided_by_instructions():
    found = jaxmeter.compile_profile(program, X)  # with the emitters of the tests
    assert not found.kernels
    compiled = [row for row in found.rows if row.stage == "LLVM" and row.seconds]
    assert compiled and {row.basis for row in compiled} == {"by instructions"}
    sources = {row.source for row in compiled}
    assert {here("# the line of the loop"), here("# the line of the helper")} <= sources
