"""The pytest plugin measures quantities, checks budgets and the lock file, and gives advice."""

import pytest

from jaxmeter._pytest.quantities import read_budgets

pytest_plugins = ["pytester"]

# Load the plugin by its name, because it may not be installed. Other plugins would take time.
PLUGINS = "-p no:jaxmeter -p jaxmeter.pytest_plugin -p no:hypothesispytest -p no:jaxtyping".split()
STEP = """
import itertools
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxmeter import Case

numbers = itertools.count()
weights = jnp.asarray(np.random.default_rng(0).normal(size=(8, 8)))
x = jnp.ones(8)


def step(x):
    return jnp.tanh(weights @ x)


def scale(x, factor=1.0):
    return factor * x


class Unequal:
    __hash__ = lambda self: next(numbers)
    __eq__ = lambda self, other: False

"""


@pytest.fixture
def run(pytester):
    """Return a function that runs tests with the plugin, in this process."""

    def run(tests, pyproject="", options=()):
        pytester.makepyfile(STEP + tests)
        pytester.makepyprojecttoml(pyproject + "\n[tool.pytest.ini_options]\naddopts = []\n")
        return pytester.runpytest_inprocess(*PLUGINS, *options, "-W", "error", "--strict-markers")

    return run


def test_quantities_are_measured_at_first_use(run):
    result = run("""
def test_it(jaxmeter):
    metered = jaxmeter(step, x)
    assert metered.captured_bytes == metered.embedded_bytes == weights.nbytes
    assert "record" not in vars(metered)
    assert metered.traces == 1
    assert metered.argument_bytes == metered.output_bytes == x.nbytes
    assert metered.jaxpr_equations_count == 2
    assert metered.audit.arrays[0].path == "weights"
    assert metered.record.status == "ok"
    with pytest.raises(AttributeError, match="'captured'; use audit, .* captured_bytes, "):
        metered.captured
""")
    result.assert_outcomes(passed=1)


def test_a_failing_comparison_names_the_array_its_line_and_a_suggestion(run):
    result = run("""
def test_it(jaxmeter):
    assert jaxmeter(step, x).captured_bytes < 100
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*jaxmeter: captured_bytes of step is 512",
            "*large    weights   float64[[]8, 8]    512  embedded once",
            "*_suggestion.py:14 used in step: return jnp.tanh(weights @ x)",
            "*- give step an argument weights and pass weights in the call*",
        ]
    )


def test_further_calls_of_a_donating_function_keep_the_arrays_of_the_test(run):
    result = run("""
@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_it(jaxmeter):
    given = jnp.ones(3)
    metered = jaxmeter(jax.jit(lambda x: x[:3] + 1, donate_argnums=0), jnp.ones(5))
    for _ in range(2):
        np.testing.assert_array_equal(metered.again(given), 2.0)
    assert metered.traces == 2 and not given.is_deleted()

@jax.tree_util.register_pytree_node_class
class Static:
    def tree_flatten(self):
        return (), None

    @classmethod
    def tree_unflatten(cls, *_):
        return cls()

def test_a_static_argument_stays_the_same_object(jaxmeter):
    donating = jax.jit(lambda x, static: x + 1, donate_argnums=0, static_argnums=1)
    static = Static()
    metered = jaxmeter(donating, jnp.ones(3), static)
    metered.again(jnp.ones(3), static)
    assert metered.traces == 1
""")
    result.assert_outcomes(passed=2)


def test_traces_are_counted_over_further_calls(run):
    result = run("""
@pytest.mark.parametrize("fn", [scale, jax.jit(scale)])
def test_it(jaxmeter, fn):
    metered = jaxmeter(fn, x)
    assert metered.captured_bytes == 0
    assert metered.traces == 1
    np.testing.assert_array_equal(metered.again(2.0 * x), 2.0 * x)
    assert metered.traces == 1
    metered.again(x[:3])
    metered.again(x, 2.0)
    metered.again(x, factor=2.0)
    assert metered.traces == 4


def test_what_was_traced_before_does_not_count(jaxmeter):
    jitted = jax.jit(scale)
    jitted(x)
    assert jaxmeter(jitted, x).traces == 1
    assert jaxmeter(jitted, x).traces == 1


def test_too_many(jaxmeter):
    metered = jaxmeter(scale, x)
    metered.again(x[:3])
    assert metered.traces == 1
""")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        ["*jaxmeter: traces of scale is 2", "*shape of x: (8,) -> (3,): pad x to one shape*"]
    )


def test_a_function_that_is_always_retraced_fails_a_limit_of_one_trace_with_advice(run):
    result = run("""
fn = lambda x, s: x + 1.0

def test_plain(jaxmeter):
    case = Case(fn, (x, Unequal()), {}, {"static_argnums": 1})
    assert jaxmeter(case).traces == 1

def test_jitted(jaxmeter):
    metered = jaxmeter(jax.jit(fn, static_argnums=1), x, Unequal())
    assert metered.captured_bytes == 0
    assert metered.traces == 1
""")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*look for a static argument that does not equal itself*"])


BUDGETS = """
[tool.jaxmeter.budgets]
captured_bytes = 100
traces = 1

[tool.jaxmeter.budgets."*::test_large*"]
captured_bytes = 512
"""


def test_limits_for_the_pattern_of_all_tests_are_added_to_the_general_limits(tmp_path):
    file = tmp_path / "pyproject.toml"
    file.write_text(
        '[tool.jaxmeter.budgets]\ntraces = 1\n[tool.jaxmeter.budgets."*"]\ncompiles = 2\n'
    )
    assert read_budgets(file) == {"*": {"traces": 1, "compiles": 2}}


def test_a_call_that_compiles_without_a_trace_exceeds_the_budget_of_compiles(run):
    result = run(
        """
@pytest.mark.jaxmeter_budget(traces=1, compiles=1)
def test_it(jaxmeter):
    metered = jaxmeter(step, x)
    metered.again(x)
    metered.again(jax.device_put(x, jax.devices()[0]))
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["jaxmeter: compiles of step is 2, above its budget of 1"])


def test_budgets_hold_for_all_tests_unless_a_pattern_or_a_mark_overrides_them(run):
    result = run(
        """
def test_it(jaxmeter):
    jaxmeter(step, x)

def test_large(jaxmeter):
    jaxmeter(step, x)

def test_large_again(jaxmeter):
    metered = jaxmeter(step, x)
    metered.again(jnp.ones((8, 2)))

@pytest.mark.jaxmeter_budget(captured_bytes=None)
def test_lifted(jaxmeter):
    jaxmeter(step, x)

@pytest.mark.jaxmeter_budget(temp_bytes=10**9, hlo_instructions_count=0, captured_bytes=600)
def test_of_its_own(jaxmeter):
    jaxmeter(step, x)
""",
        BUDGETS,
    )
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(
        [
            "jaxmeter: captured_bytes of step is 512, above its budget of 100",
            "  *weights*",
            "jaxmeter: traces of step is 2, above its budget of 1",
            "  shape of x: * -> (8, 2): pad x to one shape*",
            "jaxmeter: hlo_instructions_count of step is *, above its budget of 0",
        ]
    )


def test_a_mark_with_a_limit_without_a_keyword_is_an_error(run):
    result = run("""
@pytest.mark.jaxmeter_budget({"traces": 0})
def test_it(jaxmeter):
    jaxmeter(scale, x)
""")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*got {'traces': 0}; give each limit by keyword, *"])


def test_a_quantity_that_needs_arrays_fails_in_one_line_for_shapes(run):
    result = run(
        """
shape = jax.ShapeDtypeStruct((8,), "float64")

@pytest.mark.jaxmeter_budget(traces=None)
def test_captured(jaxmeter):
    assert jaxmeter(step, shape).captured_bytes == 512

def test_traces(jaxmeter):
    jaxmeter(scale, shape)

@pytest.mark.jaxmeter_budget(traces=None)
def test_of_its_own(jaxmeter):
    def raises(x):
        return x.no_such_attribute
    with pytest.raises(AttributeError, match="no_such_attribute"):
        jaxmeter(raises, x).audit
""",
        "[tool.jaxmeter.budgets]\ntraces = 1\n",
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["jaxmeter: got a jax.ShapeDtypeStruct among the arguments of scale, *", "*short test*"]
    )
    assert "Traceback" not in str(result.stdout) and "metered.py" not in str(result.stdout)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (
            "capturd_bytes = 3",
            "got a limit on the unknown quantity 'capturd_bytes'; use one of captured_bytes, ",
        ),
        ('traces = "a"', "got traces='a'; give a whole number"),
        ("traces = -1", "got traces=-1; give a whole number >= 0"),
        ("traces = true", "got traces=True; give a whole number"),
    ],
)
def test_an_invalid_budget_ends_the_run_with_advice(run, limit, message):
    result = run("def test_it(): pass", f"[tool.jaxmeter.budgets]\n{limit}\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*tool.jaxmeter.budgets[]]: *{message}*"])
    assert "None" not in str(result.stderr)  # the advice for TOML, which has no None


def test_the_plugin_does_not_import_jax_before_the_fixture_is_used(pytester):
    pytester.makepyfile("import sys\ndef test_it(): assert 'jax' not in sys.modules")
    result = pytester.runpytest_subprocess(*PLUGINS)
    result.assert_outcomes(passed=1)


LOCKED = """
@pytest.mark.jaxmeter_lock
def test_step(jaxmeter):
    metered = jaxmeter(step, x)
    jaxmeter(step, x[:8])
    metered.again(x)

@pytest.mark.jaxmeter_lock
def test_scale(jaxmeter):
    jaxmeter(scale, x)

def test_free(jaxmeter):
    jaxmeter(scale, x)
"""


def test_marked_tests_are_compared_with_the_lock_file(run, pytester):
    file = pytester.path / "jaxmeter.lock.toml"
    result = run(LOCKED)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["*lock.toml has no section 'jax *, cpu, *'; tests not compared: 2; *"]
    )
    assert not file.exists()
    run(LOCKED, options=["--jaxmeter-lock"]).assert_outcomes(passed=3)
    text = file.read_text()
    test = "test_marked_tests_are_compared_with_the_lock_file.py::test_step step"
    assert text.count(f'{test}"]') == text.count(f'{test} (2)"]') == 1
    assert text.count("\n[") == 3 and "test_free" not in text
    result = run(LOCKED)
    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line("*not compared*")
    # One more trace and compile, and one function fewer.
    changed = LOCKED.replace("again(x)", "again(x[:, None] * x)").replace(
        "(step, x[:8])", ".__name__"
    )
    result = run(changed)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "jaxmeter: jaxmeter.lock.toml: jax *, cpu, *: 1 function, 2 not as locked",
            "*::test_step step * compiles * 1 *2 *+100 % *regression",
            "*::test_step step * traces * 1 *2 *+100 % *regression",
            "*::test_step step (2) *missing",
            "compiles = 2",
            "traces = 2",
        ]
    )


def test_a_test_that_is_run_again_is_locked_once(run, pytester):
    pytester.makeconftest("""
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    for _ in range(2):
        runtestprotocol(item, nextitem=nextitem)
        item._initrequest()  # as pytest-rerunfailures does
    return True
""")
    run(LOCKED, options=["--jaxmeter-lock"]).assert_outcomes(passed=6)
    assert "test_scale scale (2)" not in (pytester.path / "jaxmeter.lock.toml").read_text()


def test_a_marked_test_that_measures_nothing_fails(run):
    result = run("\n@pytest.mark.jaxmeter_lock\ndef test_it(): pass\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["jaxmeter_lock: got *::test_it, which measured no function; *"])


def test_a_function_that_is_always_retraced_keeps_its_other_quantities(run):
    result = run("""
def test_it(jaxmeter):
    case = Case(lambda x, s: weights @ x, (x, Unequal()), {}, {"static_argnums": 1})
    locked = jaxmeter(case).locked()
    assert locked["traces"] > 1 and locked["compiles"] > 1
    assert (locked["captured_bytes"], locked["jaxpr_equations_count"]) == (512, 1)
""")
    result.assert_outcomes(passed=1)
