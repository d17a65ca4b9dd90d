"""Tests of the binding against fake_library.c, which needs no engine."""
import ctypes
import os
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SANDCELL_BUILD_DIR", TOP / "build"))
FAKE = Path(os.environ.get("SANDCELL_LIBRARY", BUILD / "tests/libsandcell_python_fake.so"))
PACKAGE = TOP / "src/python"
DOUBLE = Path(__file__).with_name("opendatasci_double")

os.environ["SANDCELL_LIBRARY"] = str(FAKE)
sys.path.insert(0, str(PACKAGE))
sys.path.insert(0, str(TOP / "tests/abi"))


def pytest_configure(config):
    if not FAKE.exists():
        pytest.exit(f"{FAKE} is not built", returncode=77)


def environment(**more):
    """For a Python of its own that imports the package."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE), **more}


class FakeLibrary:
    """The knobs and counters of fake_library.c."""

    KINDS = ("engines", "sessions", "results", "errors")

    def __init__(self):
        self._handle = ctypes.CDLL(str(FAKE))

    def live(self):
        counts = (ctypes.c_int * 4).in_dll(self._handle, "fake_live")
        return dict(zip(self.KINDS, counts))

    def __getattr__(self, name):
        return ctypes.c_int.in_dll(self._handle, f"fake_{name}").value

    def set(self, **knobs):
        for name, value in knobs.items():
            ctypes.c_int.in_dll(self._handle, f"fake_{name}").value = value


@pytest.fixture
def fake():
    library = FakeLibrary()
    knobs = dict(open_ms=0, open_code=0, close_ms=0, close_code=0)
    library.set(**knobs)
    yield library
    library.set(**knobs)


@pytest.fixture
def session(fake):
    import sandcell

    with sandcell.Session() as opened:
        yield opened
