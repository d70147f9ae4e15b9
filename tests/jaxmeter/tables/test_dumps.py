"""Tables of XLA dumps: operations of a program, its buffers, and the differences of two dumps."""

import dataclasses
import shutil
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from jaxmeter import JaxmeterError
from jaxmeter import tables as jt
from jaxmeter._program.buffers import is_cut_off

HLO = "HloModule jit_f\n\nENTRY %main () -> f32[] {\n}\n"


def chunked(x, *, chunk):
    with jax.named_scope("outer_products"):
        return jax.lax.map(lambda y: jnp.sin(jnp.outer(y, y)).sum(), x, batch_size=chunk)


def lowered(chunk):
    return jax.jit(lambda x: chunked(x, chunk=chunk)).lower(jnp.ones((32, 40)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}
    for chunk in (4, 16):
        folder = tmp_path_factory.mktemp("dumps") / str(chunk)
        made[chunk] = jt.dump_program(lowered(chunk), folder, by_pass=chunk == 4)
    return made


@pytest.fixture(scope="module")
def dumped(folders):
    return {chunk: jt.dump_tables(dump) for chunk, dump in folders.items()}


def test_the_buffer_assignment_and_memory_analysis_agree_on_temporaries(dumped):
    for tables in dumped.values():
        (total,) = tables["dump"].to_dict("records")
        assert total["temp_bytes"] == total["analysed_temp_bytes"] > 0
        assert total["argument_bytes"] == 32 * 40 * 8
        assert total["output_bytes"] == 32 * 8
        temporary = tables["dump_buffers"].query("buffer_kind == 'temporary'")
        assert temporary["bytes"].max() == total["largest_temp_bytes"] <= total["temp_bytes"]


def test_the_largest_temporary_has_no_scope_if_its_operation_is_in_no_scope():
    lines = (
        "%p = f32[4]{0} parameter(0)",
        "%a = f32[4]{0} sine(%p)",
        "ROOT %b = f32[4]{0} cosine(%a)",
    )
    text = HLO.replace("{\n}", "{\n  " + "\n  ".join(lines) + "\n}")
    dump = jt.Dump(Path("folder"), "jit_f", "", text, "", ())
    assert jt.dump_tables(dump)["dump"]["largest_temp"].tolist() == ["f32[4] sine"]


@pytest.mark.cpu
def test_a_program_in_the_persistent_cache_is_dumped_completely(persistent_cache, tmp_path):
    program = lowered(4)
    program.compile()
    assert list(persistent_cache.iterdir())
    dump = jt.dump_program(program, tmp_path / "dump")
    assert dump.before and dump.assignment


def test_the_diff_of_two_chunk_sizes_names_the_buffers_that_grew(dumped):
    found = jt.diff_dumps(dumped[4], dumped[16])
    grown = found.query("what == 'buffer' and change_bytes > 0").to_dict("records")
    assert "outer_products" in grown[0]["item"]
    assert grown[0]["now_bytes"] > 2 * grown[0]["before_bytes"]
    (temp,) = found.query("item == 'temp_bytes'").to_dict("records")
    assert temp["change_bytes"] == temp["now_bytes"] - temp["before_bytes"] > 0
    assert len(jt.diff_dumps(dumped[4], dumped[4])) == 0


def test_instructions_are_counted_before_and_after_optimisation_and_after_each_pass(dumped):
    tables = dumped[4]
    opcodes = tables["dump_opcodes"]
    (total,) = tables["dump"].to_dict("records")
    counts = dict(opcodes.groupby("stage")["count"].sum())
    assert counts["after"] == total["instructions_count"]
    assert counts["before"] == total["instructions_before_count"]
    passes = tables["dump_passes"]
    assert len(passes) == total["passes_count"] > 3
    assert passes["instructions_count"].iloc[0] == counts["before"]
    assert passes["fusions_count"].iloc[-1] == total["fusions_count"] == len(tables["dump_fusions"])
    assert len(dumped[16]["dump_passes"]) == 0


def test_fusions_and_precision_show_operations_types_and_scopes(dumped):
    fusions = dumped[4]["dump_fusions"]
    (sine,) = fusions[fusions["operations"].str.contains("sine")].to_dict("records")
    assert sine["scope"] == "outer_products" and "test_dumps.py:" in sine["source"]
    precision = dumped[4]["dump_precision"]
    assert "f64" in set(precision["dtype"]) and "f32" not in set(precision["dtype"])


def test_constants_and_custom_calls_are_listed(tmp_path):
    table = jnp.arange(50.0) ** 0.5

    def fn(x):
        with jax.named_scope("solve"):
            return jnp.linalg.cholesky(x) @ table.astype(x.dtype)

    dump = jt.dump_program(jax.jit(fn).lower(jnp.eye(50, dtype="float32")), tmp_path / "d")
    tables = jt.dump_tables(dump)
    constant = tables["dump_constants"].iloc[0]
    assert constant["bytes"] == 50 * 4 and constant["shape"] == "f32[50]"
    calls = tables["dump_custom_calls"]
    assert calls["call_target"].str.contains("potrf").any()
    assert calls["scope"].str.startswith("solve").all()


def test_a_dump_is_complete_if_other_flags_of_xla_ask_for_other_files(tmp_path):
    # Options of jit stand for XLA_FLAGS, which XLA reads only once in a process.
    others: dict[str, str | bool] = {
        "xla_dump_hlo_as_proto": True,
        "xla_dump_hlo_module_re": "another",
        "xla_dump_include_timestamp": True,
    }
    program = jax.jit(jnp.outer, compiler_options=others).lower(jnp.ones(8), jnp.ones(8))
    dump = jt.dump_program(program, tmp_path / "dump")
    assert dump.before and dump.after and dump.assignment


def test_dumps_of_another_program_of_several_or_of_none_are_refused(folders, tmp_path):
    folder = folders[4].folder
    with pytest.raises(JaxmeterError, match="not empty"):
        jt.dump_program(lowered(8), folder)
    with pytest.raises(JaxmeterError, match="is a dump of jit__lambda"):
        jt.read_dump(folder, "jit_other")
    with pytest.raises(JaxmeterError, match="no file module_\\*after.*--xla_dump_hlo_as_text"):
        jt.read_dump(tmp_path)
    for name in ("jit_f", "jit_g"):
        (tmp_path / f"module_0001.{name}.cpu_after_optimizations.txt").write_text("HloModule m")
    with pytest.raises(JaxmeterError, match="2 different names; give .* as module: jit_f, jit_g"):
        jt.read_dump(tmp_path)
    with pytest.raises(JaxmeterError, match="program is empty; dump again"):
        jt.dump_tables(jt.read_dump(tmp_path, "jit_g"))


@pytest.mark.parametrize("share", [0.5, 0.75, 0.95])
def test_a_program_that_is_cut_off_is_refused(folders, share):
    dump = folders[4]
    cut = dataclasses.replace(dump, after=dump.after[: int(share * len(dump.after))])
    with pytest.raises(JaxmeterError, match="is cut off|program is empty"):
        jt.dump_tables(cut)


@pytest.mark.parametrize("lines_count", [1, 2, 3, 6])
def test_a_buffer_assignment_that_is_cut_off_is_refused(folders, tmp_path, lines_count):
    folder = shutil.copytree(folders[4].folder, tmp_path / "dump")
    (file,) = folder.glob("*buffer-assignment.txt")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:lines_count])[:-2])
    with pytest.raises(JaxmeterError, match="the buffer assignment is cut off; dump again"):
        jt.dump_tables(jt.read_dump(folder))


def test_a_buffer_assignment_ends_with_its_total_or_at_the_end_of_a_line():
    text = "BufferAssignment:\n" + "".join(
        f"allocation {n}: size 4, parameter {n}, shape |f32[]| at ShapeIndex {{}}:\n"
        f" value: <{n} p.{n} @0> (size=4,offset=0): f32[]\n"
        for n in range(3)
    )
    total = "\nTotal bytes used: {} ({}B)\n\nUsed values:\n"
    assert not is_cut_off(text) and not is_cut_off(text + total.format(12, 12))
    assert is_cut_off(text + total.format(16, 16))
    assert is_cut_off(text[:-1]) and is_cut_off(text[:-1] + total.format(12, 12))


def test_a_folder_that_cannot_be_read_is_named(monkeypatch, tmp_path):
    def refuse(folder):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(JaxmeterError, match=r"dump: got .* \(Permission denied\); give a folder"):
        jt.read_dump(tmp_path)


@pytest.mark.parametrize("target", ["", "cpu_", "sm_8.0_gpu_", "sm_9.0a_gpu_"])
def test_the_files_of_a_program_are_found_for_every_target(target, tmp_path):
    stem = "module_0001.jit_f"
    for name in ("before_optimizations", f"{target}after_optimizations"):
        (tmp_path / f"{stem}.{name}.txt").write_text(HLO)
    dump = jt.read_dump(tmp_path)
    assert (dump.module, dump.before, dump.after) == ("jit_f", HLO, HLO)


def test_programs_and_passes_are_ordered_by_number(tmp_path):
    for program in (9999, 10000):
        stem = f"module_{program}.jit_f"
        names = [f"{number}.simplify.after_dce.before_cse" for number in (9999, 10000)]
        for name in ("cpu_after_optimizations", *names):
            (tmp_path / f"{stem}.{name}.txt").write_text(f"{program}\n{HLO}")
    dump = jt.read_dump(tmp_path)
    assert dump.after.startswith("10000\n")
    assert [number for number, *_ in dump.passes] == [9999, 10000]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(JaxmeterError, match=r"dump: got .*absent', which is not a folder; give"):
        jt.read_dump(tmp_path / "absent")
