"""Create or repair ``.venv`` with the extras named on the command line, unless it is up to date.

Runs with the system's own interpreter, before anything is installed: standard library only, and no
syntax newer than the message about an old interpreter needs.

The state lives in two files inside the environment: ``.installed.json`` says which extras stand and
from which settings; ``.installing`` exists only while pip runs. Where it is found at the start, the
last installation was cut short, its packages cannot be trusted, and the environment is made again.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
INSTALLED = os.path.join(VENV, ".installed.json")
INSTALLING = os.path.join(VENV, ".installing")
SETTINGS = ("pyproject.toml", os.path.join("jaxmeter", "pyproject.toml"))
OLDEST = (3, 11)


class EnvironmentProblem(Exception):
    """The environment cannot be made; the message says what to try."""


def check_interpreter():
    """Raise where this interpreter cannot make the environment."""
    found = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] < OLDEST:
        wanted = ".".join(str(part) for part in OLDEST)
        raise EnvironmentProblem(
            f"{sys.executable} is Python {found}, vcjax needs {wanted} or newer; "
            f"name one: make PYTHON=python{wanted} ..."
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


def fingerprint():
    """A digest of everything an installation depends on: interpreter, place, settings."""
    digest = hashlib.sha256()
    base = getattr(sys, "_base_executable", sys.executable)
    digest.update(repr((sys.version, os.path.realpath(base), ROOT)).encode())
    for name in SETTINGS:
        with open(os.path.join(ROOT, name), "rb") as stream:
            digest.update(stream.read())
    return digest.hexdigest()


def installed():
    """What stands in the environment: ``{"fingerprint": str, "extras": [str]}``."""
    if os.path.exists(INSTALLING) or not os.path.exists(PYTHON):
        return {"fingerprint": None, "extras": []}
    try:
        with open(INSTALLED) as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return {"fingerprint": None, "extras": []}


def run_pip(arguments):
    """Run the environment's pip with the user's own configuration; return its exit code."""
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Only this of the user's settings cannot hold inside an environment.
    return subprocess.call(command + arguments, cwd=ROOT, env={**os.environ, "PIP_USER": "0"})


def install(extras, optional):
    """Bring the environment to hold `extras`, and `optional` ones where they have a wheel."""
    wanted = fingerprint()
    state = installed()
    if state["fingerprint"] == wanted and set(extras) <= set(state["extras"]):
        return
    check_interpreter()
    if state["fingerprint"] != wanted:
        # Another interpreter, other settings or an installation cut short: start from nothing.
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
    print(f"installing jaxmeter and {wish} (a minute or two)", flush=True)
    if run_pip(["-e", "jaxmeter", "-e", wish]) != 0:
        raise EnvironmentProblem(
            f"pip could not install {wish} (its message is above); "
            "once its cause is mended, run the same command again"
        )
    for extra in optional:
        if run_pip(["--only-binary", ":all:", "-e", f".[{extra}]"]) != 0:
            print(f"no wheel for the optional extra '{extra}' here: its tests will skip")
    os.remove(INSTALLING)
    with open(INSTALLED + ".new", "w") as stream:
        json.dump({"fingerprint": wanted, "extras": every}, stream)
    os.replace(INSTALLED + ".new", INSTALLED)


def main():
    """Parse the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extras", nargs="+", help="extras of pyproject.toml to install")
    parser.add_argument("--optional", nargs="*", default=[], help="extras that may be missing")
    options = parser.parse_args()
    try:
        install(options.extras, options.optional)
    except EnvironmentProblem as problem:
        print(f"environment: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("environment: interrupted; the next run starts it over", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
