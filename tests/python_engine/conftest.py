"""Tests of the binding on a real engine, at SANDCELL_TEST_HOST or what is named instead."""
import os
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
VARIABLE = os.environ.get("SANDCELL_TEST_VARIABLE", "SANDCELL_TEST_HOST")
HOST = os.environ.get(VARIABLE)
sys.path.insert(0, str(TOP / "src/python"))
os.environ.setdefault("SANDCELL_LIBRARY", str(TOP / "build/lib/libsandcell.so.0"))
if HOST:
    os.environ["SANDCELL_HOST"] = HOST


def pytest_configure(config):
    if not HOST:
        strict = os.environ.get("SANDCELL_TEST_STRICT") == "1"
        pytest.exit(f"{VARIABLE} is not set", returncode=1 if strict else 77)


@pytest.fixture(scope="module")
def session():
    import sandcell

    with sandcell.Session(memory="512m") as opened:
        yield opened


@pytest.fixture
def fresh(session):
    session.reset()
    return session
