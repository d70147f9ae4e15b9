"""Further calls of a measured function are counted, and each trace is explained."""

pytest_plugins = ["pytester"]


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


def test_a_function_that_is_always_retraced_keeps_its_other_quantities(run):
    result = run("""
def test_it(jaxmeter):
    case = Case(lambda x, s: weights @ x, (x, Unequal()), {}, {"static_argnums": 1})
    locked = jaxmeter(case).locked()
    assert locked["traces"] > 1 and locked["compiles"] > 1
    assert (locked["captured_bytes"], locked["jaxpr_equations_count"]) == (512, 1)
""")
    result.assert_outcomes(passed=1)
