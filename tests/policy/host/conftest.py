import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "policy"), str(TESTS / "runner")]

import forker  # noqa: E402

forker.install(str(TESTS.parent / "src" / "runner"))

import pytest  # noqa: E402
from runner import Runner  # noqa: E402


@pytest.fixture
def place(tmp_path):
    """A working folder and a runner in it."""
    cwd = tmp_path / "work"
    cwd.mkdir()
    return cwd


@pytest.fixture
def cli(place, tmp_path):
    return Runner(place, tmp_path / "scratch")
