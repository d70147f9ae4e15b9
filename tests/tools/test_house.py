"""README and docs, the list of targets, and who may import whom among the scripts."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
PAGES = {str(page.relative_to(DOCS).with_suffix("")): page for page in DOCS.rglob("*.md")}


def test_the_lines_of_the_readme_compute_a_field_to_six_digits(tmp_path):
    code = re.search(r"```python\n(.*?)```", (CHECKOUT / "README.md").read_text(), re.DOTALL)
    assert code is not None
    command = [sys.executable, "-c", code[1]]
    # Users compile without the flags of the tests.
    env = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    error, estimate = map(float, done.stdout.split())
    assert 0 < error < 1e-6 and error <= estimate < 1e-5


def listed(name):
    """Return the pages in the contents of a page."""
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", PAGES[name].read_text(), re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    folder = Path(name).parent
    return {str(folder / line) for line in lines if line and not line.startswith(":")}


def test_every_page_but_the_first_is_listed_once_in_the_contents_of_a_page():
    found = [page for name in PAGES for page in listed(name)]
    assert sorted(found) == sorted(set(PAGES) - {"index"})


def test_the_readme_is_one_screen_and_its_links_lead_to_files():
    readme = (CHECKOUT / "README.md").read_text()
    assert len(readme.splitlines()) <= 50, "the README is one screen; the rest is in docs/"
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", readme):
        assert (CHECKOUT / target).exists(), target


def test_each_option_of_a_card_has_its_own_line():
    lines = [line for page in PAGES.values() for line in page.read_text().splitlines()]
    assert not [line for line in lines if re.search(r"\S\s+:link-type:", line)]


def test_no_line_of_text_begins_with_a_percent_sign():
    """The site would not show such a line, because Sphinx reads it as a comment."""
    for page in PAGES.values():
        included = re.findall(r"^```\{include\} (\S+)", page.read_text(), re.MULTILINE)
        for path in (page, *(page.parent / name for name in included)):
            text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
            assert not re.findall(r"^ *%.*", text, re.MULTILINE), path


def test_make_lists_its_targets_when_called_without_one():
    done = subprocess.run(["make"], cwd=CHECKOUT, capture_output=True, text=True, timeout=60)
    targets = re.findall(r"^  make (\w+) +\w", done.stdout, re.MULTILINE)
    assert {"help", "report", "test", "lint", "clean"} <= set(targets)


# import-linter checks packages; scripts that are run by path are checked here.
@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [("profiling", {"reports", "studies"}), ("examples", {"jaxmeter", "benchmarks"})],
)
def test_scripts_import_public_names_and_no_forbidden_package(folder, forbidden):
    scripts = sorted((CHECKOUT / folder).glob("*.py"))
    imported = {name for script in scripts for name in imports(script.read_text())}
    assert imported & {"vcjax", "jaxmeter"}  # `imports` finds imports
    private = {name for name in imported if re.match(r"(vcjax|jaxmeter)\..*\b_", name)}
    assert not private
    assert not {name for name in imported if name.split(".")[0] in forbidden}


def imports(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_an_installed_package_named_tests_does_not_hide_the_tests(tmp_path):
    # f90nml, which simsopt needs, installs such a package.
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    path = os.pathsep.join([str(CHECKOUT), str(tmp_path)])
    command = [sys.executable, "-P", "-c", "import tests; print(tests.__path__)"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.stdout.strip() == str([str(CHECKOUT / "tests")])


def test_asv_installs_the_locked_versions():
    from asv.util import load_json

    matrix = load_json(str(CHECKOUT / "asv.conf.json"), js_comments=True)["matrix"]["req"]
    jax = matrix.pop("jax")[-1]
    lines = (CHECKOUT / "locks" / f"py3.11-jax{jax}.txt").read_text().split()
    locked = dict(line.split("==") for line in lines)
    pinned = {name: versions for name, versions in matrix.items() if versions != [""]}
    assert pinned == {name: [locked[name]] for name in pinned} and len(pinned) >= 4
