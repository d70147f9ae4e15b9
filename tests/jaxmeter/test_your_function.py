"""The files of docs/your_function.md can be audited unchanged, and capture what the page says."""

import ast
import importlib.util
import re
from pathlib import Path

import jax
import pytest

import jaxmeter
from jaxmeter._cli.arguments import case_from_options
from jaxmeter._cli.command import COMMANDS
from jaxmeter._records.comparison import Side

TEXT = (Path(__file__).parents[2] / "docs" / "your_function.md").read_text()
FILES = dict(re.findall(r"```python\n(# \w+_step\.py: .*?\n)(.*?)```", TEXT, re.DOTALL))
# By target: the names of the arguments that should pass its large captured arrays.
TARGETS = {
    "plain_step.py:step": {"TABLE"},
    "fixed_step.py:step": set(),
    "equinox_step.py:step": set(),
    "equinox_step.py:loss": set(),
    "nnx_step.py:step": set(),
    "diffrax_step.py:solve": {"COUPLING"},
    "numpyro_step.py:update": set(),
    "numpyro_step.py:potential": {"model_args"},
    "method_step.py:telescope.step": {"self"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    for title, text in FILES.items():
        (folder / title.split()[1].rstrip(":")).write_text(title + text)
    defaults = {"jax_enable_x64": False, "jax_numpy_dtype_promotion": "standard"}
    before = {name: getattr(jax.config, name) for name in defaults}
    for name, value in defaults.items():
        jax.config.update(name, value)
    yield folder
    for name, value in before.items():
        jax.config.update(name, value)


@pytest.mark.parametrize("target", TARGETS)
def test_a_file_captures_the_arrays_that_its_first_line_names(target, folder):
    file, _, name = target.partition(":")
    for imported in imports((folder / file).read_text()):
        if importlib.util.find_spec(imported) is None:
            pytest.skip(f"needs {imported}")
    audit = audit_of(folder, target)
    large = {one.argument for one in audit.arrays if one.verdict == "large"}
    assert large == TARGETS[target]
    title = (folder / file).read_text().splitlines()[0]
    assert all(name in title for name in large) and ("nothing" in title or large)


def audit_of(folder, target):
    return jaxmeter.audit(case_from_options("audit", f"{folder}/{target}", Side(target)))


def imports(text):
    """Yield the packages that a module imports at its top."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]


def test_every_file_of_the_page_is_audited_and_every_command_exists():
    assert {title.split()[1].rstrip(":") for title in FILES} == {
        target.partition(":")[0] for target in TARGETS
    }
    commands = set(re.findall(r"^jaxmeter (\w+)", TEXT, re.MULTILINE))
    assert {"audit", "compile", "memory", "retraces", "watch"} <= commands <= set(COMMANDS)


def test_the_page_shows_the_audit_of_its_first_file(folder, monkeypatch):
    monkeypatch.chdir(folder)
    shown = re.search(r"```\n(step: captures .*?)\n```", TEXT, re.DOTALL)
    assert shown is not None
    assert shown[1] == jaxmeter.table(audit_of(folder, "plain_step.py:step"))
