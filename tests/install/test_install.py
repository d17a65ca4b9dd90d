"""What `cmake --install` lays down can be found and used, by CMake and by pkg-config.

SANDCELL_BUILD_DIR is the build to install from.
"""
import os
import subprocess
from pathlib import Path

import pytest

BUILD = os.environ["SANDCELL_BUILD_DIR"]
SOURCE = Path(__file__).resolve().parent
HEADERS = SOURCE.parents[1] / "include/sandcell"


def run(*command, **env):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, **env})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", name="prefix")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", str(prefix))
    return prefix


def library_folder(prefix):
    return next(prefix.rglob("libsandcell.so")).parent


def check_consumer(program, prefix):
    assert run(program, LD_LIBRARY_PATH=str(library_folder(prefix))).startswith("0.1.")


def test_every_public_header_is_installed_and_no_other(prefix):
    theirs = {path.name for path in (prefix / "include").rglob("*.h")}
    assert theirs == {path.name for path in HEADERS.glob("*.h")}


def test_the_library_has_its_names(prefix):
    names = {path.name for path in library_folder(prefix).glob("libsandcell*")}
    assert {"libsandcell.so", "libsandcell.so.0", "libsandcell.a"} <= names


def test_the_program_finds_the_library_beside_it(prefix):
    assert "0.1." in run(str(prefix / "bin/sandcell"), "version", LD_LIBRARY_PATH="")


def test_cmake_finds_the_package(prefix, tmp_path):
    run("cmake", "-G", "Ninja", "-S", str(SOURCE), "-B", str(tmp_path), f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", str(tmp_path))
    check_consumer(str(tmp_path / "consumer"), prefix)


def flags(prefix, *options):
    path = library_folder(prefix) / "pkgconfig"
    return run("pkg-config", *options, "--cflags", "--libs", "sandcell",
               PKG_CONFIG_PATH=str(path)).split()


def test_pkg_config_finds_the_shared_library(prefix, tmp_path):
    program = tmp_path / "consumer"
    run("cc", str(SOURCE / "consumer.c"), "-o", str(program), *flags(prefix))
    check_consumer(str(program), prefix)
