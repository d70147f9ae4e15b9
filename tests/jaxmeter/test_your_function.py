"""The files of docs/your_function.md run unchanged, and capture the arrays that the page names."""

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
    readers = {"jax_enable_x64": False, "jax_numpy_dtype_promotion": "standard"}
    before = {name: getattr(jax.config, name) for name in readers}
    for values in (readers, before):
        for name, value in values.items():
            jax.config.update(name, value)
        if values is readers:
            yield folder


@pytest.mark.parametrize("target", TARGETS)
def test_a_file_of_the_page_is_audited_as_it_says(target, folder):
    file, _, name = target.partition(":")
    for imported in imports((folder / file).read_text()):
        if importlib.util.find_spec(imported) is None:
            pytest.skip(f"needs {imported}")
    case = case_from_options("audit", f"{folder / file}:{name}", Side(target))
    large = {one.argument for one in jaxmeter.audit(case).arrays if one.verdict == "large"}
    assert large == TARGETS[target]
    title = (folder / file).read_text().splitlines()[0]
    assert all(name in title for name in large) and ("nothing" in title or large)


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
    shown = re.search(r"```\n(step: captures .*?)```", TEXT, re.DOTALL)
    assert shown is not None and "1.44 MB in 1 array" in shown[1]
