"""``dir(jaxmeter)`` lists only the API, and importing jaxmeter loads only its version."""

import subprocess
import sys

import jaxmeter


def test_dir_lists_only_public_names_of_jaxmeter():
    names = dir(jaxmeter)
    assert {"audit", "measure", "compare", "compile_profile", "Record", "JaxmeterError"} <= {*names}
    assert not [name for name in names if name.startswith("_")]
    modules = [getattr(getattr(jaxmeter, name), "__module__", "jaxmeter.") for name in names]
    assert all(module.startswith("jaxmeter.") for module in modules)


def test_importing_jaxmeter_loads_only_its_version_and_neither_jax_nor_numpy():
    code = "import sys, jaxmeter; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    names = {name for name in loaded.stdout.split() if name.startswith(("jax", "numpy"))}
    assert names == {"jaxmeter", "jaxmeter.version"}


def test_the_tables_need_no_import_of_their_own():
    code = "import jaxmeter; print(jaxmeter.tables.trace_tables.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "trace_tables\n"
