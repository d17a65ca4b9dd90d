"""The README's examples do what it says: each block of C is built and run, each command is
typed, and what they print is what the README shows."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["SANDCELL_BUILD_DIR"])
README = (TOP / "README.md").read_text()
HOST = os.environ.get("SANDCELL_TEST_HOST")

STRICT = os.environ.get("SANDCELL_TEST_STRICT") == "1"

needs_engine = pytest.mark.skipif(
    not HOST and not STRICT, reason="SANDCELL_TEST_HOST is not set")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def environment():
    env = {k: v for k, v in os.environ.items() if k not in ("SANDCELL_IMAGE", "DOCKER_HOST")}
    env["PATH"] = f"{BUILD}/bin:{env['PATH']}"
    env["SANDCELL_HOST"] = os.environ["SANDCELL_TEST_HOST"]
    return env


def commands():
    """(command, what it prints) of the console blocks, in order."""
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


@needs_engine
def test_commands_print_what_is_shown(tmp_path):
    assert len(list(commands())) >= 5
    for command, output in commands():
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        complaints = [line for line in done.stderr.decode().splitlines()
                      if not line.startswith("sandcell: warning: ")]  # root's workspace
        assert (done.stdout.decode(), complaints) == (output, []), command


@pytest.fixture(name="program")
def built(tmp_path):
    (source,) = blocks("c")
    (tmp_path / "example.c").write_text(source)
    subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{TOP}/include", "example.c",
         "-o", "example", f"-L{BUILD}/lib", "-lsandcell", f"-Wl,-rpath,{BUILD}/lib"],
        cwd=tmp_path, check=True, timeout=60)
    return tmp_path / "example"


def test_c_example_is_accepted(program):
    assert program.exists()


@needs_engine
def test_c_example_prints_what_is_shown(program):
    done = subprocess.run([program], env=environment(), stdout=subprocess.PIPE, check=True,
                          timeout=120)
    (shown,) = blocks("text")
    assert done.stdout.decode() == shown


@needs_engine
def test_python_example_prints_what_is_shown(tmp_path):
    (code,), (shown,) = blocks("python"), blocks("output")
    env = {**environment(), "PYTHONPATH": str(TOP / "src/python"),
           "SANDCELL_LIBRARY": str(BUILD / "lib/libsandcell.so.0")}
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], env=env, cwd=tmp_path,
                          stdout=subprocess.PIPE, check=True, timeout=120)
    assert done.stdout.decode() == shown


def test_files_and_folders_that_are_named_exist():
    for name in re.findall(r"`((?:include|src|images|tests|scripts)/[\w./]*|[\w]+\.md)`", README):
        where = TOP / "src/runner" if name == "PROTOCOL.md" else TOP
        assert (where / name).exists(), name
