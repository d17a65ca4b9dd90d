"""Figures and tables of the real libraries, in the image that has them.

Needs the docker command line, SANDCELL_TEST_HOST and the image sandcell/datasci.
"""

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

HOST = os.environ.get("SANDCELL_TEST_HOST")
STRICT = os.environ.get("SANDCELL_TEST_STRICT") == "1"
IMAGE = "sandcell/datasci"
TOP = Path(__file__).resolve().parents[2]
FOLDERS = ("src/runner", "tests/runner", "tests/datasci", "tests/data/cases")

# The sources come over stdin: the engine may be anywhere.
INSIDE = """
import os, shutil, sys, tarfile
tarfile.open(fileobj=sys.stdin.buffer, mode="r|").extractall("/tmp/top")
shutil.copytree("/etc/skel", os.environ["HOME"], dirs_exist_ok=True)
sys.path[:0] = ["/tmp/top/tests/runner", "/tmp/top/tests/datasci"]
import inside
inside.main()
"""


def sources():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for folder in FOLDERS:
            for path in sorted((TOP / folder).glob("*")):
                if path.suffix in (".py", ".jsonl"):
                    tar.add(path, str(path.relative_to(TOP)))
    return packed.getvalue()


@pytest.fixture
def docker():
    missing = None
    if not HOST:
        missing = "SANDCELL_TEST_HOST is not set"
    elif not shutil.which("docker"):
        missing = "there is no docker command"
    if missing:
        (pytest.fail if STRICT else pytest.skip)(missing)
    return ["docker", "--host", HOST]


def test_displays_with_real_libraries(docker):
    command = [*docker, "run", "--rm", "-i", "--network=none", "--read-only", "--tmpfs=/tmp:exec,mode=1777",
               "--shm-size=64m", "--env=HOME=/tmp/home", "--user=1234:1234", IMAGE, "python3", "-c", INSIDE]  # fmt: skip
    done = subprocess.run(command, input=sources(), capture_output=True, timeout=600, check=False)
    text = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 0, text
    assert text.count("passed test_") >= 12, text
