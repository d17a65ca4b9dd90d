"""The examples do what they say, on a real engine. SANDCELL_BIN is the folder of programs."""
import os
import re
import subprocess
from pathlib import Path

import pytest

HOST = os.environ.get("SANDCELL_TEST_HOST")
BIN = Path(os.environ.get("SANDCELL_BIN", "build/bin"))
STEPS = sorted((Path(__file__).parent / "analysis").glob("*.py"))
COPY_DATA = """
import pathlib, shutil, sklearn.datasets
data = pathlib.Path(sklearn.datasets.__file__).parent / "data/breast_cancer.csv"
shutil.copy(data, "/workspace")
"""


@pytest.fixture(autouse=True)
def engine():
    if not HOST:
        if os.environ.get("SANDCELL_TEST_STRICT") == "1":
            pytest.fail("SANDCELL_TEST_HOST is not set")
        pytest.skip("SANDCELL_TEST_HOST is not set")


def run(program, *args):
    return subprocess.run([BIN / program, *args], capture_output=True, text=True, timeout=300,
                          check=False, env={**os.environ, "SANDCELL_HOST": HOST})


def test_analysis_builds_on_the_steps_before(tmp_path):
    copied = run("sandcell", "run", "--image", "sandcell/datasci", "--workspace", tmp_path,
                 "-c", COPY_DATA)
    assert copied.returncode == 0, copied.stderr
    done = run("analysis", tmp_path, *STEPS)
    assert done.returncode == 0, done.stderr
    assert "569 biopsies read, 569 kept" in done.stdout
    assert '-> {"benign": 357, "malignant": 212}' in done.stdout
    assert float(re.search(r'"held out": ([0-9.]+)', done.stdout)[1]) > 0.95
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert (tmp_path / "chart.png").stat().st_uid == tmp_path.stat().st_uid


def test_analysis_stops_at_the_first_step_that_fails(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("print('before')\nno_such_name\n")
    done = run("analysis", tmp_path, bad, STEPS[0])
    assert done.returncode == 1
    assert "before" in done.stdout
    assert "NameError" in done.stderr
    assert STEPS[0].name not in done.stdout


def test_analysis_without_arguments_says_how():
    done = run("analysis")
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")
