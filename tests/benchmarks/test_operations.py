"""The table of operations: every public function has a row, and dead workers leave records."""

import inspect
import json
import os
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
import vcjax
from benchmarks.measuring import pair
from benchmarks.operations import calls, derivatives, inputs, measure, programs, table, worker
from benchmarks.operations.edited import EditedLine, edited_lines, nearest
from benchmarks.operations.measure import Difference
from benchmarks.operations.table import OPERATIONS, Calls
from jaxmeter import Counts, Inventory, SourceLine, Watched, WatchedFunction
from jaxmeter._records.record import Program
from tests.benchmarks.common import planned, side_in, write_record
from vcjax import interfaces, wout
from vcjax.interfaces import simsopt


def public_names():
    """Yield the names of public functions, and of public classes and methods that compute."""
    for module, names in (
        (vcjax, vcjax.__all__),
        (interfaces, interfaces.__all__),
        (wout, vars(wout)),
        (simsopt, vars(simsopt)),
    ):
        for name in names:
            found = getattr(module, name)
            own = inspect.isfunction(found) and (
                module is vcjax or found.__module__.startswith(module.__name__)
            )
            if own and not name.startswith("_"):
                yield f"{module.__name__}.{name}"
    yield from ("vcjax.DenseOperator.apply", "vcjax.interfaces.simsopt.VirtualCasing")
    yield from (f"vcjax.interfaces.{name}" for name in interfaces.__all__)


def test_every_public_function_has_an_operation():
    covered = {name for one in OPERATIONS.values() for name in one.covers}
    assert set(public_names()) - covered == set()
    assert covered - set(public_names()) == set(), "no such public functions"


def test_an_operation_is_found_under_its_target_for_the_lock_file():
    for module in (calls, derivatives, programs):
        own = [one for one in OPERATIONS.values() if one.make.__module__ == module.__name__]
        assert own and all(callable(getattr(module, one.name)) for one in own)
    case = programs.apply_dense_operator()
    assert isinstance(case, jaxmeter.Case) and case.args


class FieldsRecorder:
    """Stand in for a module or an object: record the largest value of the field in each call.

    The field is the argument number `place` of a call. `largest` has a key for each function and
    shape of a field.
    """

    def __init__(self, place):
        self.place, self.largest = place, {}

    def __call__(self):
        return self

    def __getattr__(self, name):
        def call(*arguments, **_):
            if name.startswith(("external", "internal", "off", "error", "apply", "compute")):
                field = np.asarray(arguments[self.place])
                self.largest.setdefault((name, field.shape), set()).add(np.abs(field).max())
            return self

        return call


@pytest.mark.parametrize(
    ("name", "replaced", "place", "count"),
    [
        ("called_on_the_surface", "vcjax", 1, 2),
        ("called_for_gradients", "vcjax", 1, 2),
        ("called_off_the_surface", "vcjax", 1, 2),
        ("called_for_trust", "vcjax", 1, 1),
        ("called_for_a_matrix", "vcjax", 0, 2),
        ("called_as_virtual_casing", "VirtualCasing", 0, 6),
        ("called_as_virtual_casing_jax", "VirtualCasingJAX", 0, 10),
    ],
)
def test_direct_calls_evaluate_several_fields_so_that_a_compile_for_each_field_is_counted(
    name, replaced, place, count, monkeypatch
):
    recorder = FieldsRecorder(place)
    monkeypatch.setattr(calls, replaced, recorder)
    made = OPERATIONS[name].make()
    assert isinstance(made, Calls)
    made.run()
    assert len(recorder.largest) == count
    assert all(len(values) > 1 for values in recorder.largest.values()), recorder.largest


@pytest.fixture
def in_worker(tmp_path, monkeypatch):
    """Return a function that replaces the code of the workers, and the side that they measure.

    The code has the folders `store` and `details`, the `part` of the worker, and the function
    `begin`, which names the operation in progress.
    """
    side = side_in(tmp_path)
    side.details.mkdir(parents=True)
    given = """
import json, os, pathlib, shutil, sys, time
store, details, part = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[-1][0]
def begin(name):
    note = {"name": name, "target": "module:function"}
    (details / f"current-{part}").write_text(json.dumps(note))
"""

    def replace(code):
        monkeypatch.setattr(measure, "WORKER", (sys.executable, "-c", given + code))
        return side

    return replace


def test_a_worker_that_dies_leaves_a_failed_record_and_the_others_go_on(in_worker):
    side = in_worker("""
assert os.environ["JAX_ENABLE_COMPILATION_CACHE"] == "true"
begin("broken")
died = details / "died"
if part == "0" and not died.exists():
    died.touch()
    sys.exit("killed")
(details / f"succeeded-{part}").touch()
""")
    measure.measure_operations(side)
    assert len(list(side.details.glob("succeeded-*"))) == 2
    (path,) = side.store.root.rglob("*.json")
    record = jaxmeter.Record.from_json(path.read_bytes())
    assert path.parent.name == "broken" and record.status == "failed"
    assert record.failure is not None and record.failure.kind == "WorkerDied"
    assert record.failure.message.strip() == "exit status 1: killed"
    measure.measure_operations(side)  # failed operations are measured again
    assert not list(side.store.root.rglob("*.json"))


def test_a_worker_that_dies_after_an_operation_leaves_its_record(in_worker):
    side = in_worker("""
of_round = [store / "operations" / "a" / f"{number}.json" for number in (0, 1)]
if not of_round[1].exists():
    begin("a")
    shutil.copy(*of_round)
    sys.exit("killed at exit")
""")
    write_record(side.store, planned("operations/a"))
    measure.take_operation_times(side, ["a"], round_index=1)
    assert side.store.succeeded("operations/a", 1) is not None


def test_a_worker_that_dies_before_any_operation_is_an_error_and_no_failure_of_an_earlier_one(
    in_worker,
):
    side = in_worker("sys.exit('no module vcjax')")
    earlier = {"name": "earlier", "target": "module:function"}
    (side.details / "current-0").write_text(json.dumps(earlier))
    with pytest.raises(
        jaxmeter.JaxmeterError, match="before its first operation; .*no module vcjax"
    ):
        measure.take_operation_times(side, ["a"], round_index=1)
    assert not list(side.store.root.rglob("*.json"))


def test_an_interruption_ends_the_workers(in_worker, monkeypatch):
    side = in_worker("""
(details / f"pid-{part}-{os.getpid()}").touch()
time.sleep(60)
""")

    def interrupted(seconds):
        if len(list(side.details.glob("pid-*"))) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(measure, "time", SimpleNamespace(sleep=interrupted))
    with pytest.raises(KeyboardInterrupt):
        measure.measure_operations(side)
    for path in side.details.glob("pid-*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name.rpartition("-")[2]), 0)


def test_a_worker_measures_nothing_if_its_parent_ended_during_the_imports(in_worker, monkeypatch):
    side = in_worker("(details / 'given').write_text(json.dumps(sys.argv[1:]))")
    measure.take_operation_times(side, ["self_test"], round_index=1)
    monkeypatch.setattr(worker.jax.config, "update", lambda *_: None)
    # This process has another parent than the given one, as a worker has after its parent ended.
    with pytest.raises(SystemExit, match=f"the process {os.getpid()} has ended"):
        worker.main(json.loads((side.details / "given").read_text()))


def test_workers_import_packages_from_the_python_path_of_the_review(in_worker, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    side = in_worker("(details / 'paths').write_text(os.environ['PYTHONPATH'])")
    measure.take_operation_times(side, ["a"], round_index=1)
    assert (side.details / "paths").read_text() == f"{side.workers.imports}:/elsewhere"


def inventory(size):
    program = Program(hlo_fingerprint=str(size), jaxpr_equations_count=size)
    where = SourceLine("vcjax/_casing.py", 161, "_field", "total = B", 2, 8 * size)
    return Inventory("operations/a", "0.10.2", program, lines=(where,)).to_json().encode()


def test_a_program_that_differs_is_attributed_to_its_lines():
    assert measure.difference(inventory(3), inventory(3)) == Difference()
    text, places, same_program = measure.difference(inventory(3), inventory(5))
    assert not same_program
    assert list(places) == [("vcjax/_casing.py", "_field", 161)]
    first, *rest = text.splitlines()
    assert first == "changed most: vcjax/_casing.py:161 in _field: total = B"
    assert any("vcjax/_casing.py:161 _field" in line and "+16 B" in line for line in rest)


def test_a_changed_jaxpr_that_compiles_to_the_same_program_needs_no_times():
    one, two = (
        Inventory("operations/a", "0.10.2", Program(hlo_fingerprint="a", jaxpr_equations_count=n))
        for n in (3, 5)
    )
    text, _, same_program = measure.difference(one.to_json().encode(), two.to_json().encode())
    assert same_program and "the same optimised program" in text


def test_calls_that_trace_more_often_are_attributed_to_the_function_and_its_callers():
    def watched(traces):
        file = "/one/vcjax/_prepared.py"
        place = jaxmeter.Place(file, 135, "near_fields", "return", traces, traces)
        function = WatchedFunction(
            *("_stored", "/one/vcjax/_prepared.py:138", False, traces, traces, 0, 1),
            *(0.1, 0.1, (place,), ()),
        )
        return Watched((function,), "0.10.2").to_json().encode()

    text, places, same_program = measure.difference(watched(1), watched(2))
    assert not same_program
    assert places == [("vcjax/_prepared.py", "near_fields", 135)]
    assert text.startswith(
        "_stored: traces 1 -> 2, compiles 1 -> 2; called from vcjax/_prepared.py:135"
    )


OLD = 'TILE = 4\n\n\ndef near(x):\n    """Two."""\n    # Two.\n    y = f(x)\n    return y\n'


def test_the_edited_line_is_named_with_its_function_and_comments_are_no_edits(tmp_path):
    edits = {
        "changed": OLD.replace("y = f(x)", "y = g(x)"),
        "constant": OLD.replace("4", "8"),
        "gone": OLD.replace("    y = f(x)\n", ""),
        "said": OLD.replace("Two", "Three"),
        "broken": "def (",
    }
    base, head = (tmp_path / side / "vcjax" for side in ("base", "head"))
    for folder, texts in ((base, dict.fromkeys(edits, OLD)), (head, edits)):
        folder.mkdir(parents=True)
        for name, text in texts.items():
            (folder / f"{name}.py").write_text(text)
    found = edited_lines(base, head)
    assert [str(one) for one in found if "broken" not in one.file] == [
        "edited: vcjax/changed.py:7 in near: y = g(x)",
        "edited: vcjax/constant.py:1 in the module: TILE = 8",
        "edited: vcjax/gone.py:7 in near: y = f(x) (gone)",
    ]


def test_the_edit_nearest_to_the_change_is_chosen():
    edits = [EditedLine(f"vcjax/_{name}.py", 1, name, "a") for name in "abcd"]
    near = [("vcjax/_x.py", "x", 1), ("vcjax/_b.py", "other", 9), ("vcjax/_c.py", "c", 9)]
    assert nearest(edits, near) is edits[2], "a function comes before a file"
    assert nearest(edits, [*near, ("vcjax/_d.py", "inner", 1)]) is edits[3], "a line before both"
    assert nearest(edits, near[:2]) is edits[1]
    assert nearest(edits, near[:1]) is None and nearest([], near) is None
    lines = [EditedLine("vcjax/_a.py", i, "a", "a", 1) for i in range(9)]
    assert nearest(lines, near[:1]) is lines[0], "a single edit is what changed"


@pytest.mark.parametrize(
    "results",
    [
        ({"checks": {"error": 1e-9}}, {"checks": {"error": 1e-6}}),
        ({"counts": Counts(compiles_count=1)}, {"counts": Counts(compiles_count=3)}),
    ],
)
def test_an_answer_or_count_that_changed_with_the_same_program_is_attributed_to_the_edit(
    results, tmp_path
):
    both = side_in(tmp_path, "base"), side_in(tmp_path, "head")
    case = planned("operations/self_test")
    for side, result in zip(both, results, strict=True):
        write_record(side.store, case, **result)
        side.details.mkdir(parents=True)
        (side.details / "self_test.json").write_bytes(inventory(3))
    edit = EditedLine("vcjax/_a.py", 3, "a", "b = 1")
    measure.write_differences(both, tmp_path / "out", [edit])
    (path,) = (tmp_path / "out").rglob("*.txt")
    assert path.read_text() == "edited: vcjax/_a.py:3 in a: b = 1\n"


def test_a_review_measures_all_operations_unless_cases_are_chosen():
    assert pair.chosen_operations(None) == ["*"]
    assert pair.chosen_operations(["memory_sweep/*", "operations/external_*"]) == ["external_*"]
    assert pair.chosen_cases(["operations/*"], 3) == []


def test_programs_that_are_compiled_while_an_operation_is_traced_are_counted():
    def function(x):
        with jax.ensure_compile_time_eval():
            factors = [float(jax.jit(jnp.sum)(np.arange(1.0, size))) for size in (3, 4)]
        return x * factors[0] * factors[1]

    def compiles_count(function):
        program = table.Program(function, (jnp.ones(2),), lambda answer, run: {})
        record, _ = worker.measured(table.Operation("one", (), lambda: program))
        return record.counts.compiles_count

    assert compiles_count(lambda x: x * 18.0) == 1
    assert compiles_count(function) == 3


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_answer_that_is_not_finite_is_never_reported_as_rounding(bad):
    good, wrong = np.ones(3), np.array([1.0, bad, 1.0])
    for found, expected in ((wrong, wrong), (wrong, good), (good, wrong)):
        assert np.isnan(inputs.violation([good, found], [good, expected]))
    assert np.isnan(derivatives._scaled_alike(wrong, good, 3.0))
    casing = jnp.float64(bad)  # the field is bad too, although B is not
    program = derivatives._in_the_field(lambda casing, B: casing * B, casing)
    answer = program.function(*program.arguments)
    assert np.isnan(program.check(answer, program.function)["slope_error_relative"])


def test_a_batch_with_one_wrong_field_has_a_large_error():
    program = OPERATIONS["fields_of_a_batch"].make()
    assert isinstance(program, table.Program)
    problem = inputs.PROBLEM()
    right = jnp.stack([problem.B_ext * scale for scale in (1.0, 2.0, 3.0)])
    for answer, is_right in ((right, True), (right.at[2].set(right[0]), False)):
        errors = program.check(answer, lambda casing, B: B)
        assert (errors["error_relative"] < 1e-9) == is_right


def test_equations_of_low_precision_are_counted_in_every_nested_jaxpr():
    def half(x):
        step = jax.jit(lambda carry, y: (carry + y.astype(jnp.float32).sum(), y))
        return jax.lax.scan(step, jnp.float32(0), x)[1] * 2.0

    # The loop has three: a cast, a sum, and the addition to the carry. The product is in float64.
    count = worker._low_precision_count
    x = jnp.ones((3, 2))
    assert count(jax.jit(lambda x: x * 2.0), (x,)) == 0
    assert count(jax.jit(half), (x,)) >= 3
