"""The examples of the README run."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxmeter
from jaxmeter._pytest.metered import Metered
from vcjax._programs.compiled import enable_x64

README = Path(__file__).parents[2] / "jaxmeter" / "README.md"


@pytest.mark.cpu
def test_the_examples_of_the_readme_run(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    audited, hoisted, retraced, watched, compiled, compared, used, traded, *others = blocks
    tested, here, checked, module, cold = others
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_cases.py").write_text(module)
    names = {}
    exec(audited, names)
    paths = {array.path for array in names["audit"].arrays}
    assert paths == {"self.modes[0]", "self.modes[1]", "self.mask"}
    assert names["audit"].verdict == "large"
    exec(hoisted, names)
    answer = names["telescope"].propagate(names["jnp"].ones(500))
    np.testing.assert_allclose(names["field"], answer)
    exec(retraced, names)
    assert [call.number for call in names["retraces"].calls if call.traced] == [0, 2, 3]
    exec(watched, names)
    assert names["watched"].report.traces_count == 3
    exec(compiled, names)
    assert max(line.equations_count for line in names["profile"].lines) >= 24  # 12 sin, 12 roll
    exec(compared, names)
    (change,) = names["found"].fusions
    assert change.kind == ("split" if jax.__version_info__ >= (0, 9) else "vanished")
    exec(used, names)
    assert names["use"].buffers
    exec(traded, names)
    assert len(names["tradeoff"].points) == 3
    exec(here, names)
    exec(tested, names)
    names["test_step_embeds_little"](lambda fn, *args: Metered(jaxmeter.Case(fn, args)))
    assert names["record"].constants.captured_bytes == 500 * 500 * names["weights"].itemsize
    exec(checked, names)
    assert names["record"].checks == {"error_absolute": 0.0}
    exec(cold, names)
    record = names["record"]
    assert isinstance(record, jaxmeter.Record)
    assert (record.status, record.params) == ("ok", {"size": 2000})
    assert "captured" in capsys.readouterr().out


@pytest.mark.cpu
def test_the_readme_shows_what_the_first_example_prints(tmp_path, monkeypatch, capsys):
    code = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[0]
    shown = re.findall(r"```text\n(.*?)```", README.read_text(), re.DOTALL)[0]
    (tmp_path / "telescope.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    with enable_x64(False):
        exec(compile(code, str(tmp_path / "telescope.py"), "exec"), {"__name__": "telescope"})
    assert capsys.readouterr().out == shown
