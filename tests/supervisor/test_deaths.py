"""A verdict for every end of the Python process, and a usable session behind it."""

import re
import time

import pytest


def usable(cell):
    outcome = cell.run("print('alive')", timeout_ms=20000)
    assert (outcome.status, outcome.out[1]) == ("ok", b"alive\n"), outcome


@pytest.mark.parametrize(
    "code, status, exit_code, signal, text",
    [
        ("import os; os._exit(3)", "exited", 3, 0, "exit status 3"),
        ("import os; os._exit(0)", "exited", 0, 0, "exit status 0"),
        ("import ctypes; ctypes.string_at(0)", "signaled", 139, 11, "SIGSEGV"),
        ("import os; os.abort()", "signaled", 134, 6, "SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSYS)", "signaled", 159, 31, "SIGSYS"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signaled", 137, 9, "SIGKILL"),
    ],
)
def test_the_end_of_the_process_is_told(cell, code, status, exit_code, signal, text):
    cell.run("kept = 1")
    outcome = cell.run(code)
    header = outcome.header
    assert (outcome.status, header["exit_code"], header["signal"]) == (status, exit_code, signal), outcome
    assert header["state_preserved"] is False
    assert text in outcome.error
    usable(cell)
    assert "NameError" in cell.run("kept").error


def test_out_of_memory_is_told_from_a_kill(cell):
    outcome = cell.run("hog = [bytearray(1 << 20) for _ in range(4096)]", timeout_ms=60000)
    assert outcome.status == "oom", outcome
    assert outcome.header["usage"]["oom_kills"] >= 1
    assert "memory" in outcome.error
    usable(cell)
    outcome = cell.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert outcome.status == "signaled", "an old OOM kill was blamed on a later call: %r" % outcome


def test_a_child_out_of_memory_leaves_the_state(cell):
    cell.run("kept = 7")
    outcome = cell.run(
        "import subprocess, sys\n"
        "r = subprocess.run([sys.executable, '-c', 'x = [bytearray(1 << 20) for _ in range(4096)]'])\n"
        "r.returncode",
        timeout_ms=60000,
    )
    assert (outcome.status, outcome.output) == ("ok", "-9"), outcome
    assert outcome.header["usage"]["oom_kills"] >= 1
    assert cell.run("kept").output == "7"


def test_output_before_the_end_is_kept(cell):
    outcome = cell.run("import os, sys; sys.stdout.write('partial'); sys.stdout.flush(); os._exit(1)")
    assert outcome.out[1] == b"partial"


def test_a_timeout_keeps_the_variables(cell):
    outcome = cell.run("kept = 5\nwhile True: pass", timeout_ms=300)
    assert outcome.status == "timeout" and outcome.header["state_preserved"] is True, outcome
    assert outcome.error.startswith("TimeoutError: ") and "0.3 s" in outcome.error
    assert cell.run("kept").output == "5"


def test_code_that_ignores_sigint_is_killed(cell):
    outcome = cell.run(
        "import signal, time\n"
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "time.sleep(600)",
        timeout_ms=200,
        grace_ms=200,
    )
    assert outcome.status == "timeout" and outcome.header["state_preserved"] is False, outcome
    assert "memory" not in outcome.error
    usable(cell)


def test_an_interrupt_stops_its_call_and_no_other(cell):
    number = cell.client.start("print('begun', flush=True)\nwhile True: pass")
    header, content = cell.client.read()
    assert (header["type"], content) == ("output", b"begun\n")
    cell.client.write(interrupt_frame(number + 1000))
    cell.client.write(interrupt_frame(number))
    outcome = cell.client.wait(number)
    assert outcome.status == "interrupted" and outcome.header["state_preserved"] is True, outcome
    cell.client.write(interrupt_frame(number))  # late: must not hit the next call
    assert cell.run("sum(range(2000000))").status == "ok"


def interrupt_frame(target):
    from cell import frames

    return frames.pack({"type": "interrupt", "target": target})


@pytest.mark.parametrize("attempt", range(15))
def test_a_timeout_never_hits_the_next_call(cell, attempt):
    first = cell.client.start("import time; time.sleep(%f)" % (0.045 + attempt / 1500), timeout_ms=50)
    second = cell.client.start("import time; time.sleep(0.05); print('whole')")
    assert cell.client.wait(first).status in ("ok", "timeout")
    outcome = cell.client.wait(second)
    assert (outcome.status, outcome.out[1]) == ("ok", b"whole\n"), outcome


BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp('sleep', ['sleep', '9876'])
    os._exit(0)
os.wait()
while True: pass
"""


@pytest.mark.parametrize("code", [BOMB, DAEMON], ids=["fork bomb", "daemon"])
def test_nothing_survives_a_timeout(cell, code):
    outcome = cell.run(code, timeout_ms=500, grace_ms=300)
    assert outcome.status in ("timeout", "oom"), outcome  # 250 processes may be too much memory
    usable(cell)
    assert cell.client.call("stat").header["processes"] == 1  # the kernel alone


def test_background_children_do_not_delay_the_result(cell):
    outcome = cell.run("import subprocess\nchild = subprocess.Popen(['sleep', '7777'])\nprint('returned')")
    assert outcome.out[1] == b"returned\n"
    assert cell.client.call("stat").header["processes"] == 2
    assert cell.client.call("reset").status == "ok"
    usable(cell)  # by then the fresh process has become the user
    assert cell.client.call("stat").header["processes"] == 1


def test_late_output_is_told_apart(cell):
    cell.run("import subprocess\np = subprocess.Popen(['sh', '-c', 'sleep 0.2; echo late; echo oops >&2'])")
    deadline = time.monotonic() + 60
    while cell.client.call("stat").header["processes"] > 1:  # asks the supervisor, not the kernel
        assert time.monotonic() < deadline
    outcome = cell.run("print('mine')")
    assert outcome.out == {1: b"mine\n", 2: b"", 3: b"late\n", 4: b"oops\n"}, outcome


def test_a_death_between_calls_is_told_by_the_next(cell):
    cell.run("import ctypes, threading, time\nthreading.Timer(0.2, ctypes.string_at, [0]).start()")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        outcome = cell.run("1")
        if outcome.status != "ok":
            assert outcome.status == "signaled"  # died while that call ran
            break
        if outcome.out[4]:
            assert b"SIGSEGV" in outcome.out[4] and b"variables are lost" in outcome.out[4]
            break
    else:
        pytest.fail("nobody told that the Python process died")
    usable(cell)


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.closerange(3, 1024)",
        "import os\nfor fd in range(3, 1024):\n    try: os.write(fd, b'\\x01\\x00\\x00\\x00garbage' * 100)\n    except OSError: pass",
        "import os\nfor fd in range(3, 1024):\n    try: os.write(fd, b'\\xff' * 64)\n    except OSError: pass",
    ],
    ids=["close", "scribble", "huge lengths"],
)
def test_breaking_the_control_socket_ends_in_a_verdict(cell, code):
    outcome = cell.run(code, timeout_ms=20000)
    assert outcome.status == "error" and "control descriptor" in outcome.error, outcome
    assert outcome.header["exit_code"] is None and outcome.header["state_preserved"] is False
    usable(cell)


def test_forged_results_are_refused(cell):
    outcome = cell.run(
        "import json, os, socket, struct\n"
        "def frame(header, body=b''):\n"
        "    text = json.dumps(header).encode()\n"
        "    return struct.pack('>II', len(text), len(body)) + text + body\n"
        "for fd in range(3, 1024):\n"
        "    try:\n"
        "        os.write(fd, frame({'type': 'done', 'id': 1, 'status': 'root', 'exit_code': 0}))\n"
        "    except OSError: pass\n"
        "import time; time.sleep(60)",
        timeout_ms=30000,
    )
    assert outcome.status == "error", outcome
    assert re.search("nonsense|control", outcome.error), outcome
    usable(cell)


def test_zombies_are_reaped(cell):
    outcome = cell.run(
        "import os\n"
        "for _ in range(300):\n"
        "    if os.fork() == 0:\n"
        "        if os.fork() == 0: os._exit(0)\n"
        "        os._exit(0)\n"
        "    os.wait()\n",
        timeout_ms=60000,
    )
    assert outcome.status == "ok", outcome
    usable(cell)


def test_a_dead_zygote_is_replaced(cell):
    found = cell.run(
        "import glob\n"
        "found = None\n"
        "for path in glob.glob('/proc/[0-9]*/oom_score_adj'):\n"
        "    try:\n"
        "        if open(path).read() == '300\\n': found = int(path.split('/')[2])\n"
        "    except OSError: pass\n"
        "found"
    )
    pid = found.output
    from engine_api import ExecStream

    stream = ExecStream(cell.id, ["python3", "-c", "import os; os.kill(%s, 9); print('killed')" % pid], "65530:65530")
    assert stream.read() == b"killed\n"
    stream.close()
    assert cell.client.call("reset").status == "ok"
    usable(cell)
