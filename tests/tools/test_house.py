"""What a newcomer meets first: the README's lines and the list of targets."""

import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def test_the_lines_of_the_readme_compute_a_field_to_six_digits(tmp_path):
    code = re.search(r"```python\n(.*?)```", (CHECKOUT / "README.md").read_text(), re.DOTALL)
    assert code is not None
    command = [sys.executable, "-c", code[1]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    error, estimate = map(float, done.stdout.split())
    assert 0 < error < 1e-6 and error <= estimate < 1e-5


def test_make_lists_its_targets_when_called_without_one():
    done = subprocess.run(["make"], cwd=CHECKOUT, capture_output=True, text=True, timeout=60)
    targets = re.findall(r"^  make (\w+) +\w", done.stdout, re.MULTILINE)
    assert {"help", "report", "test", "lint", "clean"} <= set(targets)
