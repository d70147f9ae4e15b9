"""trace: a function or a folder becomes tables, and TensorBoard opens the folder of the trace."""

import gzip
import importlib.util
import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pandas as pd
import pytest

TARGET = "profiled:scoped"


@pytest.fixture(scope="module")
def traced(trace, tmp_path_factory):
    """Return the output folder of a run of the script, and its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(Path(__file__).parent)
        out = tmp_path_factory.mktemp("out")
        return out, trace.main([TARGET, "--param", "size=30", "--out", str(out), "--no-xprof"])


@pytest.mark.cpu
def test_a_function_is_traced_and_its_tables_are_saved_with_the_environment(traced):
    out, code = traced
    assert code == 0
    ops = pd.read_parquet(out / "trace_ops.parquet")
    assert "products" in set(ops["scope"])
    assert len(pd.read_csv(out / "trace_ops.csv")) == len(ops)
    saved = json.loads((out / "environment.json").read_text())
    assert saved["environment"]["jax"] and saved["source"].endswith(".xplane.pb")


@pytest.mark.cpu
def test_reading_the_trace_again_gives_the_same_operations(trace, traced, tmp_path, capsys):
    out, _ = traced
    assert trace.main([str(out), "--out", str(tmp_path), "--no-xprof"]) == 0
    printed = capsys.readouterr().out
    assert "trace_scopes" in printed and "products" in printed
    assert "of the operations' self time is in named scopes" in printed
    assert re.fullmatch(r"\d+ % in `products`, [\d.]+ [mu]?s a run", printed.splitlines()[-1])
    assert re.search(r"products .* [\d.]+ [mu]?s +\d+\.\d%\n", printed)
    first, again = (pd.read_parquet(f / "trace_ops.parquet") for f in (out, tmp_path))
    pd.testing.assert_frame_equal(first, again)


@pytest.mark.cpu
def test_without_hlo_the_scopes_are_not_known_and_none_is_advised(
    trace, traced, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("jaxmeter._tables.trace_tables.programs", lambda path, wanted: {})
    assert trace.main([str(traced[0]), "--out", str(tmp_path), "--no-xprof"]) == 0
    printed = capsys.readouterr().out
    assert "the scopes of 1 of 1 programs are not known" in printed
    assert "add jax.named_scope" not in printed


def test_a_trace_with_command_buffers_says_how_to_name_their_kernels(trace):
    # The names and the shares are from a trace of an NVIDIA H200.
    names = ["command_buffer_35", "command_buffer_49", "loop_add_fusion.2"]
    ops = pd.DataFrame({"op": names, "self_fraction": [0.612, 0.331, 0.057]})
    note = trace.command_buffers_note(ops)
    assert note.startswith("94% of") and "--xla_gpu_enable_command_buffer=" in note
    assert trace.command_buffers_note(ops.iloc[2:]) == ""


def test_a_reader_that_closes_the_pipe_gets_all_tables_and_no_traceback(script, traced, tmp_path):
    command = [sys.executable, script("trace").__file__, str(traced[0]), "--out", str(tmp_path)]
    with subprocess.Popen(
        [*command, "--no-xprof"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.close()
        errors = running.stderr.read()
        assert running.wait(timeout=120) == 0
    assert "Traceback" not in errors and "Broken" not in errors
    assert (tmp_path / "trace_ops.parquet").is_file()


def test_the_script_runs_by_path_and_hides_no_standard_module(tmp_path, script):
    path = script("trace").__file__
    code = (
        f"import runpy, sys; sys.path.insert(0, {str(Path(path).parent)!r})\n"
        f"try: runpy.run_path({path!r}, run_name='__main__')\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        "import trace; assert hasattr(trace, 'Trace'), trace.__file__"
    )
    command = [sys.executable, "-c", code, "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "exit codes" in done.stdout


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("tensorboard", "xprof"))),
    reason="needs tensorboard and tensorboard-plugin-profile",
)
def test_tensorboard_and_its_plugin_serve_the_folder(traced):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    out, _ = traced
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(out)]
    options = ["--host", "127.0.0.1", "--port", str(port), "--load_fast", "false"]
    server = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL)
    try:
        plugin = f"http://127.0.0.1:{port}/data/plugin/profile"
        (run,) = _answer(f"{plugin}/runs", server)
        tools = _answer(f"{plugin}/run_tools?run={run}", server)
        assert {"trace_viewer@", "overview_page", "memory_viewer"} <= set(tools)
        (host,) = {
            h["hostname"] for h in _answer(f"{plugin}/hosts?run={run}&tag=trace_viewer@", server)
        }
        data = _answer(f"{plugin}/data?run={run}&tag=trace_viewer@&host={host}", server)
        assert any(event.get("name", "").startswith("fn") for event in data["traceEvents"])
    finally:
        server.terminate()
        server.wait(timeout=30)


def _answer(url, server):
    """Return the JSON at an address, once the server has read the folder."""
    for _ in range(120):
        assert server.poll() is None, "tensorboard ended"
        try:
            with urllib.request.urlopen(url, timeout=60) as response:
                body = response.read()
                if response.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
            answer = json.loads(body)
            if answer:
                return answer
        except OSError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"no answer at {url}")
