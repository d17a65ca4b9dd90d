"""The Python examples do what they say, on a real engine."""
import os
import re
import subprocess
import sys
from pathlib import Path

from test_examples import BIN, HOST, engine  # noqa: F401 - a fixture for all

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]


def run(name, *args):
    environment = {**os.environ, "SANDCELL_HOST": HOST, "PYTHONPATH": str(TOP / "src/python"),
                   "SANDCELL_LIBRARY": str(BIN.parent / "lib/libsandcell.so.0")}
    done = subprocess.run([sys.executable, HERE / name, *args], env=environment, text=True,
                          capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_agent_repairs_its_mistake_and_answers():
    out = run("agent.py")
    assert re.findall(r"^turn \d: (\w+)", out, re.M) == ["ok", "failed", "ok", "ok"]
    assert "answer: {'north': 2422.5, 'south': 1972.5, 'west': 3085.0}" in out
    assert "north,2422.5" in out


def test_grader_gives_each_what_it_earned():
    lines = [re.match(r"(\w+) +(\d)  (.*)", line).groups() for line in run("grader.py").splitlines()]
    points = {name: int(number) for name, number, _ in lines}
    remarks = {name: remark for name, _, remark in lines}
    assert len(points) == 20
    full = {"ada", "alan", "edsger", "grace", "leslie", "mallory", "olivia"}
    assert {name for name, number in points.items() if number == 4} == full
    assert points["barbara"] in (1, 2) and points["bob"] == 1
    for name, status in {"carol": "timeout", "heidi": "exited", "ivan": "exited",
                         "judy": "timeout", "ken": "error", "niklaus": "error",
                         "peggy": "error", "trent": "signaled"}.items():
        assert points[name] == 0 and remarks[name].startswith(status), (name, remarks[name])
    assert points["eve"] == 0 and points["dave"] == 0


def test_notebook_shows_tables_charts_and_errors(tmp_path):
    out = run("notebook.py", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "[2] ok, 1 figures" in out and "[3] ok, 1 figures" in out and "[5] error" in out
    assert page.count('<img src="data:image/png;base64,') == 2
    assert "<table" in page and "KeyError" in page and "<script" not in page
