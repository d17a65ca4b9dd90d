"""The leader of command lines under the real supervisor, driven frame by frame."""

import json

import pytest
from judge import judge


@pytest.fixture(scope="module", params=[1000, 0], ids=["uid1000", "uid0"])
def cell(request):
    import cell as cells

    made = cells.Cell(uid=request.param)
    yield made
    made.close()


def start(client, command, **fields):
    form = json.dumps(judge.form(command)).encode()
    return client.send("cli", form, parts=[["form", len(form)]], **fields)


def run(client, command, **fields):
    return client.wait(start(client, command, **fields))


LEADERS = """
import glob, os
sorted(int(os.path.basename(path)) for path in glob.glob("/tmp/.sandcell-cli/*") if os.path.exists("/proc/" + os.path.basename(path)))
"""


def leaders(cell):
    return json.loads(cell.run(LEADERS).output)


def test_one_leader_runs_one_command_line_after_another(cell):
    for _ in range(3):
        assert run(cell.client, "echo x").out[1] == b"x\n"
    assert len(leaders(cell)) == 1


def test_user_code_can_not_look_into_it(cell):
    """Unless it is uid 0: see drop.set_dumpable()."""
    run(cell.client, "echo")
    (pid,) = leaders(cell)
    if cell.run("import os; os.getuid()").output != "0":
        assert "PermissionError" in cell.run("open('/proc/%d/mem', 'rb')" % pid).error


def test_a_running_kernel_does_not_hold_a_command_up(cell):
    running = cell.client.start("import time; time.sleep(1000)")
    other = cell.attach()
    assert run(other, "echo beside").out[1] == b"beside\n"
    other.send("interrupt", target=running)
    assert cell.client.wait(running).status == "interrupted"
    other.stream.close()


def test_two_command_lines_at_once_have_two_leaders(cell):
    first = start(cell.client, "cat /dev/zero | wc -c")
    assert run(cell.attach(), "echo second").out[1] == b"second\n"
    cell.client.send("interrupt", target=first)
    assert cell.client.wait(first).status == "interrupted"
    assert len(leaders(cell)) == 1


def test_after_a_deadline_the_leader_goes_on(cell):
    run(cell.client, "echo")
    before = leaders(cell)
    outcome = run(cell.client, "cat /dev/zero | wc -c", timeout_ms=300)
    assert outcome.status == "timeout" and b"limit" in outcome.parts["error"]
    assert run(cell.client, "echo on").out[1] == b"on\n"
    assert leaders(cell) == before


def test_a_leader_stuck_in_a_glob_is_killed(cell):
    cell.run(
        "import os\nos.makedirs('/workspace/deep', exist_ok=True)\n"
        "for i in range(60): os.makedirs('/workspace/deep/%d/a/b' % i, exist_ok=True)"
    )
    pattern = "deep/*/../*/../*/../*/../*/../*/nothing"
    outcome = run(cell.client, "echo " + pattern, timeout_ms=300)
    assert outcome.status in ("timeout", "error")  # the names may also grow too long first
    assert run(cell.client, "echo on").out[1] == b"on\n"


def test_a_reset_takes_the_idle_leader_along(cell):
    run(cell.client, "echo")
    (before,) = leaders(cell)
    assert cell.client.call("reset").status == "ok"
    assert run(cell.client, "echo on").out[1] == b"on\n"
    assert leaders(cell) != [before]


def test_a_kernel_that_is_killed_leaves_a_command_running(cell):
    first = start(cell.client, "cat /dev/zero | wc -c")
    other = cell.attach()
    other.wait(other.start("import os; os._exit(3)"))
    assert run(other, "echo on").out[1] == b"on\n"
    other.send("interrupt", target=first)
    assert cell.client.wait(first).status == "interrupted"
