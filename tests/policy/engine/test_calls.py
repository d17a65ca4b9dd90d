"""execute_cli end to end: results, limits, interrupts, and what it leaves alone."""

import threading
import time

import pytest
import table

import sandcell

HANG = 20  # seconds: only a hang takes so long
# What still runs of the pipelines below.
NAMES = """
import glob
found = []
for path in glob.glob("/proc/[0-9]*/comm"):
    try:
        found.append(open(path).read().strip())
    except OSError:
        pass
[name for name in found if name in ("cat", "od", "strings", "tr", "wc")]
"""


@pytest.fixture(scope="module")
def place(session):
    assert session.execute(table.FIXTURE + "fixture()\n").success
    return session


def test_a_result_has_the_fields_of_the_seeds(place):
    result = place.execute_cli("cat f | sort -u")
    assert (result.success, result.output, result.stdout, result.error, result.code) == (
        True, None, "a\nb\n", None, "cat f | sort -u",
    )  # fmt: skip
    assert (result.status, result.exit_code, result.stages) == ("ok", 0, [0, 0])
    assert result.state_preserved


def test_a_failure_says_what_the_command_said(place):
    result = place.execute_cli("cat missing | wc -l && ls missing")
    assert (result.status, result.exit_code, result.stages) == ("error", 2, [1, 0, 2])
    assert "missing" in result.error and result.error == result.stderr


def test_a_silent_failure_says_its_exit_status(place):
    result = place.execute_cli("grep zzz f")
    assert (result.success, result.exit_code, result.error) == (False, 1, "exit status 1")


def test_a_refusal_is_a_result(place):
    result = place.execute_cli("rm f")
    assert (result.status, result.success, result.exit_code) == ("denied", False, None)
    assert result.error.startswith("Command 'rm' is not allowed.")
    assert place.execute_cli("cat f").stdout == "b\na\nb\n"


def test_landlock_is_reported(place):
    assert place.execute_cli("echo x").landlock == (place.describe()["landlock"] >= 2)
    assert place.execute("1").landlock is None


def test_variables_are_untouched(place):
    place.execute("x = [1]\nimport os\nos.environ['PATH'] = '/workspace'\nos.chdir('/')")
    assert place.execute_cli("pwd && which ls").stdout == "/workspace\n/usr/bin/ls\n"
    assert place.execute("x.append(2)\nx").output == [1, 2]
    assert place.execute("import os; os.getcwd()").output == "/"
    place.execute("os.chdir('/workspace')")


def test_nothing_that_user_code_plants_changes_a_command(place):
    place.execute(
        """
import os, pathlib
home = pathlib.Path(os.environ["HOME"])
for name in (".bashrc", ".profile", ".bash_profile", ".env", ".jq", ".magic"):
    (home / name).write_text('alias ls="echo HIJACK"\\nls() { echo HIJACK; }\\n')
os.makedirs("/workspace/bin", exist_ok=True)
for name in ("ls", "cat", "sort", "which", "sh"):
    path = pathlib.Path("/workspace/bin", name)
    path.write_text("#!/bin/sh\\necho HIJACK\\n")
    path.chmod(0o755)
    path = pathlib.Path("/workspace", name)
    path.write_text("#!/bin/sh\\necho HIJACK\\n")
    path.chmod(0o755)
os.environ["PATH"] = "/workspace/bin:/workspace"
os.environ["BASH_ENV"] = os.environ["ENV"] = str(home / ".bashrc")
"""
    )
    for command in ("ls /", "cat /etc/hostname", "which ls", "echo '[1]' | jq length", "file f", "tar -tzf a.tgz"):
        result = place.execute_cli(command)
        assert result.success and "HIJACK" not in result.stdout, command


@pytest.mark.parametrize("command", ["cat", "sort", "wc -l", "grep x", "sed p", "xxd", "md5sum", "jq .", "tr a b", "awk 1"])
def test_without_operands_a_command_reads_nothing(place, command):
    result = place.execute_cli(command, timeout=HANG)
    assert result.status in ("ok", "error")  # grep finds nothing


@pytest.mark.parametrize("command", ["cat /dev/zero", "od /dev/urandom", "strings /dev/zero", "cat /dev/zero | tr a b | wc -c"])
def test_the_deadline_ends_a_pipeline(place, command):
    started = time.monotonic()
    result = place.execute_cli(command, timeout=0.5, output_max=10000)
    assert result.status == "timeout"
    assert time.monotonic() - started < HANG
    assert result.state_preserved
    assert place.execute(NAMES).output == []


def test_an_interrupt_ends_a_pipeline(place):
    timer = threading.Timer(0.5, place.interrupt)
    timer.start()
    result = place.execute_cli("cat /dev/zero | wc -c", timeout=HANG)
    timer.cancel()
    assert result.status == "interrupted"
    assert place.execute_cli("echo still here").stdout == "still here\n"


def test_output_is_bounded_and_streamed_whole(place):
    place.execute("open('big', 'w').writelines('%079d\\n' % i for i in range(50000))")
    seen = []
    result = place.execute_cli("cat big", output_max=1000, on_output=lambda stream, data: seen.append(data))
    assert result.success
    assert len(result.stdout) < 2000 and result.truncated
    assert b"".join(seen) == b"".join(b"%079d\n" % i for i in range(50000))


def test_stderr_is_apart(place):
    result = place.execute_cli("ls f missing")
    assert result.stdout == "f\n" and "missing" in result.stderr


def test_a_large_sort_works_within_the_memory_limit():
    with sandcell.Session(memory="256m") as small:
        made = small.execute(
            "import random\nwith open('big', 'w') as f:\n"
            "    for i in range(1_000_000): f.write('%08d\\n' % (i * 7919 % 1_000_003))\n"
        )
        assert made.success, made.error
        result = small.execute_cli("sort big | tail -n 1", timeout=120)
        assert (result.success, result.stdout) == (True, "01000002\n"), result.error
        result = small.execute_cli("sort -S 1M big | head -n 1", timeout=120)
        assert (result.success, result.stdout) == (True, "00000000\n"), result.error


def test_the_temporary_folder_is_emptied(place):
    found = place.execute_cli("printenv TMPDIR").stdout.strip()
    assert found
    place.execute_cli("sort -S 100k big")
    assert place.execute("import os; os.listdir(%r)" % found).output == []


def test_a_killed_sort_leaves_nothing(place):
    # It may also run out of room before the deadline.
    assert place.execute_cli("cat /dev/urandom | sort -S 100k", timeout=1).status in ("timeout", "error")
    assert place.execute("import glob; glob.glob('/tmp/.sandcell-cli/*/*')").output == []


def test_a_leader_that_was_killed_is_replaced(place):
    place.execute_cli("echo")
    killed = """
import glob, os, signal
for path in glob.glob("/tmp/.sandcell-cli/*"):
    try:
        os.kill(int(os.path.basename(path)), signal.SIGKILL)
    except OSError:
        pass  # of one that is gone
"""
    assert place.execute(killed).success
    assert place.execute_cli("echo again").stdout == "again\n"


def test_a_temporary_folder_that_user_code_removed_is_made_again(place):
    assert place.execute("import shutil; shutil.rmtree('/tmp/.sandcell-cli')").success
    assert place.execute_cli("echo").success  # without one, and the last of its leader
    found = place.execute_cli("printenv TMPDIR")
    assert found.success
    assert place.execute("import os; os.listdir(%r)" % found.stdout.strip()).output == []


def test_quoted_operators_are_text_with_the_option(place):
    assert place.execute_cli("awk '$1 > 9' nums").status == "denied"
    assert place.execute_cli("awk '$1 > 9' nums", quoted_operators=True).stdout == "10 x\n"


def test_many_commands_leave_no_process_behind(place):
    count = "import os; sum(name.isdigit() for name in os.listdir('/proc'))"
    before = place.execute(count).output
    for _ in range(20):
        place.execute_cli("ls | cat | wc -l && pwd")
    assert place.execute(count).output == before
