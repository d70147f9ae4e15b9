"""Create or repair ``.venv`` with the extras named on the command line, unless it is up to date.

The command runs with the system's own interpreter before anything is installed, so it needs only
the standard library. It avoids new syntax, so that an interpreter that is too old can still print
the error message.

Packages have the versions of ``locks/pyX.Y-jaxZ.txt`` if that file exists, so that a measurement
can be repeated; otherwise pip takes the newest versions. By default, JAX is installed in the newest
version that has a lock file for this Python. ``--jax`` chooses another version, and
``--write-lock`` writes the lock file.

Two files in the environment describe its state. ``.installed.json`` has the installed extras and
the digest that `fingerprint` returned. ``.installing`` is created before pip runs, and deleted when
the installation is complete. If a run finds ``.installing``, the last installation did not
finish, and the run makes a new environment.
"""

import argparse
import contextlib
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
LOCKS = os.path.join(ROOT, "locks")
PYTHON = os.path.join(VENV, "bin", "python")
INSTALLED = os.path.join(VENV, ".installed.json")
INSTALLING = os.path.join(VENV, ".installing")
SETTINGS = ("pyproject.toml", os.path.join("jaxmeter", "pyproject.toml"))
OLDEST = (3, 11)


class EnvironmentProblem(Exception):
    """A problem with the environment; the message says what to try."""


def check_interpreter():
    """Raise `EnvironmentProblem` if this interpreter cannot make the environment."""
    found = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] < OLDEST:
        wanted = ".".join(str(part) for part in OLDEST)
        raise EnvironmentProblem(
            f"{sys.executable} is Python {found}, but vcjax needs {wanted} or newer; "
            f"name another interpreter: make PYTHON=python{wanted} ..."
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        raise EnvironmentProblem(
            f"{sys.executable} has no module '{error.name}', which makes virtual environments; "
            "install it (Debian and Ubuntu: apt install python3-venv) or name another "
            "interpreter: make PYTHON=/path/to/python3 ..."
        ) from error


def lock_file(jax=None):
    """Return the path of this Python's lock file for a version of JAX.

    If `jax` is None, return the lock file with the newest JAX. Without a lock file, return None.
    """
    name = "py{}.{}-jax{}.txt".format(*sys.version_info[:2], "*" if jax is None else jax)
    found = glob.glob(os.path.join(glob.escape(LOCKS), name))
    return max(found, key=lambda path: [int(n) for n in re.findall(r"\d+", path)], default=None)


def fingerprint(jax=None):
    """Return a digest of the interpreter, `ROOT`, `jax`, the `SETTINGS` files and the lock file."""
    digest = hashlib.sha256()
    base = getattr(sys, "_base_executable", sys.executable)
    digest.update(repr((sys.version, os.path.realpath(base), ROOT, jax)).encode())
    paths = [os.path.join(ROOT, name) for name in SETTINGS]
    lock = lock_file(jax)
    for path in paths + ([lock] if lock else []):
        with open(path, "rb") as stream:
            digest.update(stream.read())
    return digest.hexdigest()


def installed():
    """Return the state of the environment: ``{"fingerprint": str or None, "extras": [str]}``.

    The fingerprint is None if the environment is missing or incomplete.
    """
    if os.path.exists(PYTHON) and not os.path.exists(INSTALLING):
        with contextlib.suppress(OSError, ValueError), open(INSTALLED) as stream:
            return json.load(stream)
    return {"fingerprint": None, "extras": []}


def check_names(extras, jax):
    """Raise `EnvironmentProblem` if the name of an extra or the version `jax` is not valid.

    pip could mistake such an argument for an option or for the address of a package.
    """
    for name in extras:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise EnvironmentProblem(
                f"{name!r} cannot be the name of an extra; give names from pyproject.toml: "
                "make EXTRAS='trace plot' ..."
            )
    if jax is not None and not re.fullmatch(r"[0-9]+(\.[0-9a-z]+)*", jax):
        raise EnvironmentProblem(
            f"JAX={jax} is not a version; give a version, for example: make JAX=0.7.2 ..."
        )


def run_pip(arguments):
    """Run ``pip install`` in the environment, with the user's settings; return its exit code."""
    # pip would compile all modules on one core; `compile_modules` compiles them on all cores.
    quiet = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    # With -I, pip does not count packages on PYTHONPATH as installed.
    command = [PYTHON, "-I", "-m", "pip", "install", *quiet]
    # pip cannot follow the user setting PIP_USER inside an environment.
    return subprocess.call(command + arguments, cwd=ROOT, env={**os.environ, "PIP_USER": "0"})


def compile_modules():
    """Compile the installed modules, except tests, on all cores.

    Modules for other versions of Python fail to compile, which is harmless.
    """
    tests = r"site-packages.*[/\\]tests?[/\\]"
    command = [PYTHON, "-m", "compileall", "-qq", "-j", "0", "-x", tests, os.path.join(VENV, "lib")]
    subprocess.call(command, stderr=subprocess.DEVNULL)


def requirements(extra):
    """Return the packages of an extra in pyproject.toml."""
    import tomllib  # `check_interpreter` raises an error if Python is too old for this module

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as stream:
        known = tomllib.load(stream)["project"]["optional-dependencies"]
    if extra not in known:
        raise EnvironmentProblem(
            f"pyproject.toml has no extra {extra!r}; give one of {', '.join(known)}"
        )
    return known[extra]


def install(extras, optional, jax=None):
    """Install extras in the locked versions.

    An extra in `optional` is installed only if all its packages have wheels. Do nothing if `extras`
    are installed and up to date. If `jax` is None, use the lock file with the newest JAX, or the
    newest JAX if there is no lock file. Raise `EnvironmentProblem` if a name is not valid, this
    interpreter cannot be used, or the installation fails.
    """
    check_names(extras, jax)
    wanted = fingerprint(jax)
    state = installed()
    if state["fingerprint"] == wanted and set(extras) <= set(state["extras"]):
        return
    check_interpreter()
    if state["fingerprint"] != wanted:
        # Another interpreter, other settings or an interrupted installation: start over.
        if os.path.isdir(VENV):
            shutil.rmtree(VENV)
        print(f"creating .venv with {sys.executable}", flush=True)
        if subprocess.call([sys.executable, "-m", "venv", VENV]) != 0:
            raise EnvironmentProblem(
                f"'{sys.executable} -m venv .venv' failed (its message is above); "
                "on Debian and Ubuntu try: apt install python3-venv"
            )
    open(INSTALLING, "w").close()
    every = sorted(set(extras) | set(state["extras"] if state["fingerprint"] == wanted else []))
    wish = f".[{','.join(every)}]"
    lock = lock_file(jax)
    pins = ["-c", lock] if lock else [f"jax=={jax}"] if jax else []
    source = f" as in {os.path.relpath(lock, ROOT)}" if lock else ""
    print(f"installing jaxmeter and {wish}{source} (a minute or two)", flush=True)
    if run_pip([*pins, "-e", "jaxmeter", "-e", wish]) != 0:
        raise EnvironmentProblem(
            f"pip could not install {wish} (its message is above); "
            "fix the cause, then run the same command again"
        )
    for extra in optional:
        if run_pip([*pins, "--only-binary", ":all:", *requirements(extra)]) != 0:
            print(
                f"the optional extra '{extra}' was not installed, usually because a package has no "
                "wheel for this platform; tests that need this extra will be skipped"
            )
    compile_modules()
    os.remove(INSTALLING)
    with open(INSTALLED + ".new", "w") as stream:
        json.dump({"fingerprint": wanted, "extras": every}, stream)
    os.replace(INSTALLED + ".new", INSTALLED)


def write_lock():
    """Write the versions of the packages in ``.venv`` to a lock file; return the path of the file.

    Raise `EnvironmentProblem` if the environment contains no JAX.
    """
    command = [PYTHON, "-I", "-m", "pip", "freeze", "--exclude-editable"]
    versions = subprocess.check_output(command, text=True)
    jax = re.search(r"^jax==(.+)$", versions, re.MULTILINE)
    if jax is None:
        raise EnvironmentProblem(f"{VENV} contains no JAX; run make lock, which installs JAX first")
    path = os.path.join(LOCKS, "py{}.{}-jax{}.txt".format(*sys.version_info[:2], jax[1]))
    with open(path, "w") as stream:
        stream.write(versions)
    return path


def main():
    """Run the command, and return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("extras", nargs="*", help="extras of pyproject.toml to install")
    parser.add_argument(
        "--also", default="", help="further extras in one string, separated by spaces"
    )
    parser.add_argument(
        "--optional", nargs="*", default=[], help="extras to install if they have a wheel here"
    )
    parser.add_argument("--jax", help="version of JAX; if empty, the version in the lock file")
    parser.add_argument(
        "--write-lock", action="store_true", help="write the lock file, and install nothing"
    )
    options = parser.parse_args()
    try:
        if options.write_lock:
            print(f"wrote {write_lock()}")
        else:
            extras = [*options.extras, *options.also.split()]
            install(extras, options.optional, options.jax or None)
    except EnvironmentProblem as problem:
        print(f"environment: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("environment: interrupted; the next run starts over", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
