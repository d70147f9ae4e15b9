"""A module that starts a child process and takes 10 minutes to import."""

import os
import subprocess
import sys
import time

_child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
_file = os.environ["METER_TEST_PIDS"]
with open(_file + ".part", "w") as _part:
    _part.write(f"{os.getpid()} {_child.pid}")
os.replace(_file + ".part", _file)
time.sleep(600)
