"""Commands on a real engine, through the library: at SANDCELL_TEST_HOST."""

import os
import pathlib
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
HOST = os.environ.get("SANDCELL_TEST_HOST")
sys.path[:0] = [str(TOP / "src/python"), str(TOP / "tests/policy"), str(TOP / "tests/supervisor")]
os.environ.setdefault("SANDCELL_LIBRARY", str(TOP / "build/lib/libsandcell.so.0"))
if HOST:
    os.environ["SANDCELL_HOST"] = HOST


def pytest_configure(config):
    if not HOST:
        strict = os.environ.get("SANDCELL_TEST_STRICT") == "1"
        pytest.exit("SANDCELL_TEST_HOST is not set", returncode=1 if strict else 77)


@pytest.fixture(scope="module")
def session():
    import sandcell

    with sandcell.Session(memory="512m") as opened:
        yield opened
