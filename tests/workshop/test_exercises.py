"""Each exercise can be solved, is not solved yet, and is shown with its hints."""

import ast
import os
import subprocess
import sys
from collections import Counter

import pytest
from scipy import stats

from workshop import __main__ as command
from workshop import course
from workshop.checks import timing
from workshop.course import EXERCISES, SOLUTIONS, Exercise, Unsolved, all_exercises, expect, load

ROOT = EXERCISES.parents[1]


def test_every_unsolved_file_fails_and_every_solution_passes_without_a_persistent_cache(tmp_path):
    # A new process has the settings of a participant instead of the settings of the tests, except
    # for the compiler's flags. They save most of the time and do not change the counts. With the
    # persistent cache of a participant, JAX would skip compiles that the checks count.
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "workshop", "verify"],
        cwd=ROOT,
        env=os.environ | cache | {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, "\n".join(line for line in lines if "WRONG" in line) + done.stderr
    assert sum(line.startswith("ok") for line in lines) == 2 * len(all_exercises())
    assert not any(tmp_path.iterdir())


def test_there_are_three_exercises_a_lesson_with_files_solutions_and_hints():
    exercises = all_exercises()
    names = [exercise.name for exercise in exercises]
    assert names == sorted(set(names))
    lessons = Counter(name.split("/")[0] for name in names)
    assert len(lessons) == 6 and set(lessons.values()) == {3}
    for folder in (EXERCISES, SOLUTIONS):
        found = {str(path.relative_to(folder)) for path in folder.rglob("*.py")}
        assert found == {f"{name}.py" for name in names}
    for exercise in exercises:
        assert exercise.hints
        task = ast.get_docstring(ast.parse(exercise.file().read_text()))
        assert task and task == exercise.task()


def check(name, old, new, folder):
    """Check the solution of an exercise, with `old` in its text replaced by `new`."""
    exercise = next(one for one in all_exercises() if one.name.endswith(f"_{name}"))
    text = exercise.file(SOLUTIONS).read_text()
    assert old in text
    file = folder / f"{name}.py"
    file.write_text(text.replace(old, new))
    exercise.check(load(file))


WAIT = "function(x).block_until_ready()"
ROUNDS = "@jax.jit\ndef smoothed(u, rounds):\n    return jax.lax.fori_loop("
UNROLLED = (
    "def smoothed(u, rounds):\n    return jax.tree_util.Partial(jax.lax.fori_loop, unroll=True)("
)
CHUNKS = "jax.lax.map(at, points, batch_size=32)"
VARIANCE = "return variance(padded, len(series))"
STATIC = "@lambda f: jax.jit(f, static_argnums=0)\n"
FIELDS = "modes: jax.Array\n    mask: jax.Array"
TELESCOPE = f"@dataclass\nclass Telescope:\n    {FIELDS}\n\n    @jax.jit\n"
HASHED = TELESCOPE.replace("dataclass", "dataclass(eq=False)").replace("@jax.jit\n", STATIC)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("clock", WAIT, "__import__('numpy').asarray(function(x))"),
        ("clock", WAIT, "float(function(x))"),
        ("clock", WAIT, "__import__('jax').block_until_ready(function(x))"),
        ("clock", WAIT, "print(function(x))"),
        ("clock", WAIT, "int(function(x))"),
        ("clock", WAIT, "bool(function(x))"),
        ("clock", WAIT, "function(x).item()"),
        (
            "callbacks",
            "length=8)",
            "length=8)[0], [jnp.linalg.norm(x) / 2**k for k in range(1, 9)]",
        ),
        ("shapes", VARIANCE, "padded[len(series) :] = np.nan; return jax.jit(jnp.nanvar)(padded)"),
        ("method", FIELDS, "mask: jax.Array\n    modes: jax.Array"),
        ("method", "jax.Array", "'Array'"),
        ("method", "jax.Array", "object"),
        ("chunks", CHUNKS, "jax.lax.map(jax.vmap(at), points.reshape(-1, 50, 3)).reshape(-1)"),
        ("stacked", "points @ matrix.T", "(matrix @ points[..., None])[..., 0]"),
    ],
)
def test_a_right_answer_of_another_kind_passes(name, old, new, tmp_path):
    check(name, old, new, tmp_path)


@pytest.mark.parametrize(
    ("name", "old", "new", "message", "hint"),
    [
        ("side_effects", "return x, count", "return x", "the pair (x, count)", 1),
        ("branches", "sqrt(positive)", "round(positive**0.5, 3)", "derivative at 4 is 0", 1),
        ("leak", "return solve(x)", "return solve(x)[0]", "the pair (y, largest)", 1),
        ("static", "@jax.jit\n", "", "should stay jitted", 1),
        ("temporary", "@jax.jit\n", "", "took 0 compiles", 1),
        ("shapes", VARIANCE, "return np.var(series)", "should stay jitted", 0),
        (
            "shapes",
            "np.zeros(LIMIT, np.float32)",
            "series\n    return jnp.var(series)",
            "outside",
            1,
        ),
        ("argument", "@jax.jit\n", STATIC, "two arguments that are not static", 0),
        ("method", TELESCOPE, HASHED, "took 2 compiles", 1),
        ("unrolled", ROUNDS, UNROLLED, "equations for 40 rounds", 0),
        ("lock", "corners[", "CORNERS[", "captured bytes", 0),
        ("lock", "1e-7", "2e-7", "the program differs", 2),
    ],
)
def test_a_wrong_answer_fails_with_the_hint_that_helps(name, old, new, message, hint, tmp_path):
    with pytest.raises(Unsolved) as problem:
        check(name, old, new, tmp_path)
    assert message in str(problem.value) and problem.value.hint == hint


def test_fewer_processes_than_the_right_answer_cannot_reach_the_significance_level():
    for count, is_enough in ((timing.ENOUGH - 1, False), (timing.ENOUGH, True)):
        a, b = range(count), range(count, 2 * count)
        p_value = stats.mannwhitneyu(a, b, method="exact").pvalue
        assert (p_value < 0.005) == is_enough


def write_answer(folder, answer):
    (folder / "only.py").write_text(f'"""Find the answer."""\nANSWER = {answer}\n')


def exercise_in(folder, monkeypatch, answer):
    """Make a course of one exercise, solved if ANSWER is 42; return the list of checked modules."""
    write_answer(folder, answer)
    checks = []

    def check(module):
        checks.append(module)
        expect(module.ANSWER > 0, f"ANSWER is {module.ANSWER}", hint=1)
        expect(module.ANSWER == 42, f"ANSWER is {module.ANSWER}")

    exercise = Exercise(str(folder / "only"), check, ("multiply", "six times seven"))
    monkeypatch.setattr(command, "all_exercises", lambda: (exercise,))
    monkeypatch.setattr(course, "SOLVED", folder / "solved.json")
    return checks


def test_the_next_exercise_is_shown_with_its_problem_and_hints_on_request(
    tmp_path, monkeypatch, capsys
):
    exercise_in(tmp_path, monkeypatch, "41")
    assert command.main([]) == 0
    shown = capsys.readouterr().out
    assert "Find the answer." in shown and "Not yet: ANSWER is 41" in shown
    assert "multiply" not in shown
    assert command.main(["hint", "2"]) == 0
    assert "six times seven" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"ANSWER = 41\n", ("git show HEAD:workshop/exercises/", "Not yet: ANSWER is 41")),
        (b'"""Find the answer."""\n# \xff\nANSWER = 41\n', ("Find the answer.", "Not yet:")),
    ],
    ids=["without its task", "not UTF-8"],
)
def test_a_damaged_file_has_a_task_and_a_problem(tmp_path, monkeypatch, capsys, text, shown):
    exercise_in(tmp_path, monkeypatch, "41")
    (tmp_path / "only.py").write_bytes(text)
    command.main([])
    out = capsys.readouterr().out
    assert all(part in out for part in shown)


def test_printed_commands_are_quoted_for_a_shell(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "executable", "/a folder/python")
    exercise_in(tmp_path, monkeypatch, "41")
    command.main([])
    assert "For a hint: '/a folder/python' -m workshop hint 1\n" in capsys.readouterr().out
    write_answer(tmp_path, "42")
    command.main([])
    assert "--arg 'f32[500]'\n" in capsys.readouterr().out


def test_the_first_hint_concerns_the_failure(tmp_path, monkeypatch, capsys):
    exercise_in(tmp_path, monkeypatch, "-42")
    for arguments in (["hint"], ["hint", "-1"]):
        command.main(arguments)
        shown = capsys.readouterr().out
        assert "six times seven" in shown and "multiply" not in shown and "hint 2" in shown
    command.main(["hint", "2"])
    assert "multiply" in capsys.readouterr().out


def test_a_solved_file_is_checked_again_only_after_a_change(tmp_path, monkeypatch, capsys):
    checks = exercise_in(tmp_path, monkeypatch, "42")
    for _ in range(2):
        assert command.main([]) == 0
        shown = capsys.readouterr().out
        assert "All 1 exercises are solved" in shown and "jaxmeter audit" in shown
    assert len(checks) == 1
    write_answer(tmp_path, "41")
    for _ in range(2):  # a failure is not remembered
        command.main(["list"])
        assert "0 of 1 solved" in capsys.readouterr().out
    assert len(checks) == 3
    (tmp_path / "solved.json").write_text("{")
    assert command.main([]) == 0 and len(checks) == 4


def test_errors_of_the_participant_are_shown_with_their_line(tmp_path, monkeypatch, capsys):
    for answer, wanted in (
        ("1 / 0", "ZeroDivisionError in line 2: ANSWER = 1 / 0"),
        ("= 1", "SyntaxError in line 2"),
        ("__import__('sys').exit()", "SystemExit in line 2"),
    ):
        exercise_in(tmp_path, monkeypatch, answer)
        assert command.main([]) == 0
        assert wanted in capsys.readouterr().out


def test_verify_refuses_a_file_that_is_solved_or_fails_for_another_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(course, "SOLUTIONS", tmp_path)
    for answer in ("42", "__import__('no_such_package')"):
        exercise_in(tmp_path, monkeypatch, answer)
        assert command.verify() == 1


def test_a_lesson_that_does_not_exist_is_bad_usage(capsys):
    assert command.main(["lesson", "7"]) == 2
    assert "got lesson 7; give a number from 1 to 6" in capsys.readouterr().out
