"""What user code can try against the supervisor, the zygote and the connectors; each must fail."""

import pytest

OTHERS = """
import os
me = os.getuid()
others = []
for name in os.listdir('/proc'):
    if name.isdigit():
        try:
            uids = open(f'/proc/{name}/status').read().partition('\\nUid:')[2].split()[:3]
        except OSError:
            continue
        if '65530' in uids:
            others.append(int(name))
"""


@pytest.fixture
def others(cell):
    """The code's own list of foreign processes: supervisor, zygote, connector."""
    assert cell.run(OTHERS).status == "ok"
    outcome = cell.run("sorted(others)[0], len(others) >= 3")
    assert outcome.output == "(1, True)", outcome
    return cell


def refused(cell, code):
    """Runs code for every foreign pid; it has to raise PermissionError each time."""
    outcome = cell.run(
        "done = []\n"
        "for pid in others:\n"
        "    try:\n"
        "        %s\n"
        "    except (PermissionError, ProcessLookupError):\n"
        "        continue\n"
        "    done.append(pid)\n"
        "done" % code
    )
    assert outcome.status == "ok", outcome
    assert outcome.output == "[]", "these pids did not refuse %s: %s" % (code, outcome.output)


@pytest.mark.parametrize("number", [2, 9, 15, 19])
def test_signals_are_refused(others, number):
    refused(others, "os.kill(pid, %d)" % number)


def test_limits_of_others_cannot_be_set(others):
    assert others.run("import resource").status == "ok"
    refused(others, "resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1))")
    refused(others, "resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0))")


def test_scheduling_of_others_cannot_be_set(others):
    refused(others, "os.setpriority(os.PRIO_PROCESS, pid, 19)")
    refused(others, "os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))")
    refused(others, "os.sched_setaffinity(pid, {0})")


@pytest.mark.parametrize("name", ["environ", "mem", "maps", "syscall"])
def test_memory_of_others_cannot_be_read(others, name):
    refused(others, "open(f'/proc/{pid}/%s', 'rb').read(1)" % name)


def test_descriptors_of_others_cannot_be_opened(others):
    refused(others, "os.listdir(f'/proc/{pid}/fd')")
    refused(others, "open(f'/proc/{pid}/fd/0', 'rb')")
    refused(others, "open(f'/proc/{pid}/fd/1', 'wb')")


@pytest.mark.parametrize("name", ["oom_score_adj", "coredump_filter", "clear_refs", "timerslack_ns"])
def test_knobs_of_others_cannot_be_written(others, name):
    refused(others, "open(f'/proc/{pid}/%s', 'w').write('1')" % name)


def test_others_cannot_be_traced(others):
    assert others.run("import ctypes; libc = ctypes.CDLL(None, use_errno=True)").status == "ok"
    refused(
        others,
        "if libc.ptrace(ctypes.c_long(16), ctypes.c_int(pid), None, None) < 0: raise PermissionError",
    )


def test_kill_everyone_reaches_only_user_code(others):
    outcome = others.run("import os, signal\ntry:\n    os.kill(-1, signal.SIGKILL)\nexcept OSError: pass\n'here'")
    assert outcome.status == "ok", outcome
    assert others.run("1").output == "1"


def test_a_posed_client_is_not_accepted(others):
    outcome = others.run(
        "import socket\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "s.settimeout(10)\n"
        "try:\n"
        "    s.connect('\\0sandcell')\n"
        "    socket.send_fds(s, [b'c'], [0, 1])\n"
        "    answer = s.recv(1)\n"
        "except OSError as error:\n"
        "    answer = b''\n"
        "answer"
    )
    assert outcome.output == "b''", outcome


def test_nothing_is_gained_by_becoming_somebody_else(others):
    for call in ("os.setuid(65530)", "os.setresuid(65530, 65530, 65530)", "os.setgroups([0])"):
        outcome = others.run("import os\n" + call)
        assert outcome.status == "error" and "PermissionError" in outcome.error, outcome


def test_user_code_has_no_capability_and_no_new_privileges(cell):
    outcome = cell.run("print(open('/proc/self/status').read())")
    lines = dict(line.split(":\t", 1) for line in outcome.out[1].decode().splitlines() if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(lines[name], 16) == 0, (name, lines[name])
    assert lines["NoNewPrivs"] == "1"
    assert lines["Seccomp"] == "2"
    assert lines["Groups"].strip() == ""


def test_a_child_program_has_no_capability_either(cell):
    outcome = cell.run("import subprocess\nsubprocess.run(['grep', 'Cap', '/proc/self/status'])")
    values = [line.split()[1] for line in outcome.out[1].decode().splitlines()]
    assert len(values) == 5 and set(values) == {"0" * 16}, outcome


def test_the_oom_score_cannot_be_lowered(cell):
    outcome = cell.run("open('/proc/self/oom_score_adj').read().strip()")
    assert outcome.output == '"1000"', outcome
    outcome = cell.run("open('/proc/self/oom_score_adj', 'w').write('0')")
    assert outcome.status == "error" and "PermissionError" in outcome.error, outcome


def test_the_root_file_system_is_read_only(cell):
    outcome = cell.run(
        "bad = []\n"
        "for path in ('/x', '/etc/x', '/usr/x', '/sys/x', '/proc/sys/kernel/hostname'):\n"
        "    try:\n"
        "        open(path, 'w').write('x')\n"
        "    except OSError: continue\n"
        "    bad.append(path)\n"
        "bad"
    )
    assert outcome.output == "[]", outcome
