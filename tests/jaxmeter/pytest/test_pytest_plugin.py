"""The pytest plugin measures quantities, checks budgets and the lock file, and gives advice."""

import pytest

from jaxmeter._pytest.quantities import read_budgets
from tests.jaxmeter.pytest.conftest import PLUGINS

pytest_plugins = ["pytester"]


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
            "  shape of x: * -> (8, 2): give x the same number of axes in every call",
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
