"""The program on real engines: SANDCELL_TEST_HOST, and SANDCELL_TEST_PODMAN_HOST if there."""
import json
import os
import re
import signal
import subprocess
import urllib.parse

import pytest

import schema
from conftest import BINARY, HANG, Program, clean_environment, wait_for

HOSTS = [os.environ[name] for name in ("SANDCELL_TEST_HOST", "SANDCELL_TEST_PODMAN_HOST")
         if os.environ.get(name)]
pytestmark = pytest.mark.skipif(not HOSTS, reason="SANDCELL_TEST_HOST is not set")


class Sandcell(Program):
    """The program on one engine, and what that engine says past everything that is ours."""

    def __init__(self, host):
        super().__init__(clean_environment({"SANDCELL_HOST": host}))
        self.host = host

    def engine_get(self, path):
        assert self.host.startswith("unix://")
        done = subprocess.run(
            ["curl", "-sS", "--fail", "--unix-socket", self.host[len("unix://"):],
             f"http://engine{path}"],
            stdout=subprocess.PIPE, check=True, timeout=HANG)
        return json.loads(done.stdout)

    def containers_of(self, pid):
        """Containers of the sessions that process pid opened, running or not."""
        filters = urllib.parse.quote(json.dumps({"label": [f"io.sandcell.owner.pid={pid}"]}))
        return self.engine_get(f"/containers/json?all=true&filters={filters}")


@pytest.fixture(params=HOSTS or [None], ids=str)
def sandcell(request):
    return Sandcell(request.param)


@pytest.fixture
def workspace(tmp_path):
    """Of an owner who is not root, so that nothing has to be said about it."""
    folder = tmp_path / "ws"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, 1234, 1235)
    return folder


def wait_until_running(process, text=b"ready\n"):
    assert process.stdout.read(len(text)) == text


@pytest.mark.parametrize("code, exit_code, out, err", [
    ("print('hello')", 0, b"hello\n", b""),
    ("1 + 1", 0, b"", b""),
    ("import sys; print('x', file=sys.stderr)", 0, b"", b"x\n"),
    ("import sys; sys.exit(0)", 0, b"", b""),
    ("import sys; sys.exit(3)", 3, b"", b""),
    ("import sys; sys.exit('no input')", 1, b"", b"no input\n"),
    ("import os; print('a', flush=True); os._exit(4)", 4, b"a\n", b""),
    ("import os; os.write(1, bytes(range(256)))", 0, bytes(range(256)), b""),
    ("if __name__ == '__main__': print(input)", 0, b"<built-in function input>\n", b""),
])
def test_program_ends_as_the_code_does(sandcell, code, exit_code, out, err):
    done = sandcell("run", "-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (exit_code, out, err)


def test_exception_shows_the_code_alone(sandcell):
    done = sandcell("run", "-c", "print('a')\n1 / 0")
    assert (done.returncode, done.stdout) == (1, b"a\n")
    lines = done.stderr.decode().splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "line 2" in lines[1]
    assert lines[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("args, code, exit_code, said", [
    (["--timeout", "0.3"], "print('a', flush=True)\nwhile True: pass", 124, b"imeout"),
    ([], "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139, b"SIGSEGV"),
    (["--memory", "96m"], "x = bytearray(300 << 20)", 137, b"memory"),
    (["--memory", "96m"], "b = b''\nfor i in range(200): b += os.urandom(1 << 20)", 1, b"NameError"),
])
def test_verdicts(sandcell, args, code, exit_code, said):
    done = sandcell("run", *args, "-c", code)
    assert done.returncode == exit_code
    assert said in done.stderr


def test_output_arrives_while_the_code_runs(sandcell, workspace):
    code = ("import os, time\nprint('ready', flush=True)\n"
            "while not os.path.exists('go'): time.sleep(0.01)\nprint('gone')")
    process = sandcell.start("run", "--workspace", workspace, "-c", code, stdout=subprocess.PIPE)
    wait_until_running(process)
    (workspace / "go").touch()
    assert process.communicate(timeout=HANG)[0] == b"gone\n"
    assert process.returncode == 0


def test_script_sees_itself_and_its_neighbours(sandcell, workspace):
    (workspace / "lib").mkdir()
    (workspace / "lib/neighbour.py").write_text("name = 'neighbour'")
    (workspace / "lib/job.py").write_text(
        "import os, sys, neighbour\n"
        "print(neighbour.name, sys.argv, __file__, sys.path[0], os.getcwd(), __name__)")
    done = sandcell("run", "--workspace", workspace, workspace / "lib/job.py", "a", "--b")
    assert done.stdout.decode() == (
        "neighbour ['/workspace/lib/job.py', 'a', '--b'] /workspace/lib/job.py "
        "/workspace/lib /workspace __main__\n"), done.stderr


def test_script_from_elsewhere_is_sent(sandcell, tmp_path):
    (tmp_path / "job.py").write_text("import sys\nprint(sys.argv, sys.path[0])\nboom()")
    done = sandcell("run", tmp_path / "job.py", "a")
    assert done.returncode == 1
    assert done.stdout == b"['job.py', 'a'] /workspace\n"
    assert b'File "job.py", line 3' in done.stderr and b"    boom()" in done.stderr


def test_code_without_a_file_is_named_as_python_does(sandcell):
    done = sandcell("run", "-c", "import sys\nprint(sys.argv, sys.path[0] == '')\n1 / 0", "a")
    assert done.stdout == b"['-c', 'a'] True\n"
    assert b'File "<string>", line 3, in <module>' in done.stderr
    done = sandcell("run", "-", "a", stdin=b"import sys; print(sys.argv)\n1 / 0")
    assert done.stdout == b"['-', 'a']\n"
    assert b'File "<stdin>", line 2, in <module>' in done.stderr


def test_program_ends_after_its_threads_and_exit_functions(sandcell):
    done = sandcell("run", "-c", """
import atexit, threading, time
def work():
    time.sleep(0.2)
    print('thread')
atexit.register(print, 'exit')
threading.Thread(target=work).start()
print('main')
raise SystemExit(3)""")
    assert (done.returncode, done.stdout) == (3, b"main\nthread\nexit\n")


def test_files_belong_to_the_owner_of_the_workspace(sandcell, workspace):
    done = sandcell("run", "--workspace", workspace, "-c", "open('made', 'w').write('x')")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (workspace / "made").stat().st_uid == workspace.stat().st_uid


def test_read_only_workspace(sandcell, workspace):
    (workspace / "data").write_text("kept")
    code = "print(open('data').read())\nopen('data', 'w')"
    done = sandcell("run", "--workspace", f"{workspace}:ro", "-c", code)
    assert (done.returncode, done.stdout) == (1, b"kept\n")
    assert b"Read-only file system" in done.stderr
    assert (workspace / "data").read_text() == "kept"


def test_stdin_is_passed_on(sandcell):
    data = bytes(range(256)) * 4096
    done = sandcell("run", "--stdin", "-", "-c",
                    "import sys, hashlib; print(hashlib.md5(sys.stdin.buffer.read()).hexdigest())",
                    stdin=data)
    import hashlib
    assert done.stdout.decode().strip() == hashlib.md5(data).hexdigest()
    assert sandcell("run", "-", stdin=b"print(6 * 7)").stdout == b"42\n"


def test_environment_reaches_the_code_and_nothing_else(sandcell, workspace):
    code = ("import os, time\nprint(os.environ['TOKEN'], os.environ['KIND'], flush=True)\n"
            "while not os.path.exists('go'): time.sleep(0.01)")
    process = sandcell.start(
        "run", "--workspace", workspace, "--env", "TOKEN", "--env", "KIND=plain", "--verbose",
        "-c", code, env={"TOKEN": "s3cr3t"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_until_running(process, b"s3cr3t plain\n")
        (container,) = sandcell.containers_of(process.pid)
        seen = json.dumps(sandcell.engine_get(f"/containers/{container['Id']}/json"))
        assert "s3cr3t" not in seen and "plain" not in seen and "os.environ" not in seen
    finally:
        (workspace / "go").touch()
    _, said = process.communicate(timeout=HANG)
    assert process.returncode == 0
    assert b"/containers/create" in said
    assert b"s3cr3t" not in said and b"os.environ" not in said


def test_json_is_the_whole_result_on_one_line(sandcell):
    done = sandcell("run", "--json", "-c", "import sys\nprint('out')\nprint('e', file=sys.stderr)\n[1]")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1
    result = json.loads(done.stdout)
    schema.check(result, schema.RESULT)
    assert (result["status"], result["success"], result["stdout"], result["stderr"]) == (
        "ok", True, "out\n", "e\n")
    done = sandcell("run", "--json", "-c", "1 / 0")
    assert done.returncode == 1
    schema.check(json.loads(done.stdout), schema.RESULT)
    assert json.loads(done.stdout)["error"].endswith("ZeroDivisionError: division by zero")


def test_json_holds_what_was_displayed(sandcell):
    done = sandcell("run", "--json", "-c", """
class Picture:
    def _repr_png_(self): return b'\\x89PNG'
    def _repr_html_(self): return '<b>'
display(Picture())
""")
    result = json.loads(done.stdout)
    schema.check(result, schema.RESULT)
    (bundle,) = result["data"]
    assert (bundle["image/png"], bundle["text/html"]) == ("iVBORw==", "<b>")


def test_displays_become_files(sandcell, tmp_path):
    code = "class P:\n    def _repr_png_(self): return b'\\x89PNG'\ndisplay(P())"
    done = sandcell("run", "--display", tmp_path / "shown", "-c", code)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "shown/display-1.png").read_bytes() == b"\x89PNG"


@pytest.mark.parametrize("command, code, out, err", [
    ("printf 'b\\na\\n' | sort", 0, b"a\nb\n", b""),
    ("echo one && echo two", 0, b"one\ntwo\n", b""),
    ("grep nothing /etc/hostname", 1, b"", b""),
    ("awk '$1 > 5' /etc/hostname", 126, b"", b"operator"),
    ("rm -r /workspace", 126, b"", b"'rm' is not allowed"),
    ("cat /no/such/file", 1, b"", b"No such file"),
])
def test_command_runs_without_a_shell(sandcell, command, code, out, err):
    done = sandcell("run", "--cli", command)
    assert (done.returncode, done.stdout) == (code, out)
    assert err in done.stderr
    assert done.stderr.count(b"\n") == bool(err)


def test_command_that_never_ends_is_stopped(sandcell):
    assert sandcell("run", "--timeout", "1", "--cli", "cat /dev/zero | tail -c 1").returncode == 124


# ---- nothing is left ---------------------------------------------------------------------

ENDLESS = "print('ready', flush=True)\nwhile True: pass"


@pytest.mark.parametrize("number, code", [
    (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signal_ends_it_and_the_container(sandcell, number, code):
    process = sandcell.start("run", "-c", ENDLESS, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until_running(process)
    assert len(sandcell.containers_of(process.pid)) == 1
    process.send_signal(number)
    process.communicate(timeout=HANG)
    assert process.returncode == code
    assert sandcell.containers_of(process.pid) == []


def test_ctrl_c_reaches_the_code(sandcell, terminal):
    code = ("import time\n"
            "try:\n    print('ready', flush=True)\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    print('caught')")
    screen = terminal(sandcell, "run", "-c", code)
    screen.read_until(b"ready")
    screen.press(b"\x03")
    screen.read_until(b"caught")
    assert screen.wait() == 130
    assert sandcell.containers_of(screen.pid) == []


def test_code_that_ignores_ctrl_c_is_killed(sandcell, terminal):
    code = ("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            "print('ready', flush=True)\nwhile True: pass")
    screen = terminal(sandcell, "run", "-c", code)
    screen.read_until(b"ready")
    screen.press(b"\x03")
    assert screen.wait() == 130
    assert sandcell.containers_of(screen.pid) == []


def test_reader_that_leaves_ends_the_code(sandcell):
    process = sandcell.start("run", "-c", "while True: print('ready')", stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    wait_until_running(process)
    process.stdout.close()
    assert process.wait(HANG) == 141
    assert process.stderr.read() == b""
    assert sandcell.containers_of(process.pid) == []


def test_killed_program_leaves_nothing_once_the_lease_is_over(sandcell):
    process = sandcell.start("run", "--lease", "1s", "-c", ENDLESS, stdout=subprocess.PIPE)
    with process.stdout:
        wait_until_running(process)
        assert len(sandcell.containers_of(process.pid)) == 1
        process.kill()
        process.wait(HANG)
    wait_for(lambda: sandcell.containers_of(process.pid) == [], "the end of the lease")


# ---- what does not begin -----------------------------------------------------------------

@pytest.mark.parametrize("args, code, said", [
    (["--image", "sandcell/no-such-image"], 125, "sandcell/no-such-image"),
    (["--workspace", "/no/such/place"], 2, "/no/such/place"),
    (["--workspace", "/"], 2, "'/'"),
    (["--mount", "nonsense"], 2, "nonsense"),
    (["--user", "root"], 2, "root"),
    (["--runtime", "no-such-runtime"], {2, 125}, "no-such-runtime"),
    (["--host", "unix:///no/such.sock"], 125, "/no/such.sock"),
    (["--memory", "1k"], 2, "memory"),
])
def test_failure_names_what_was_wrong(sandcell, args, code, said):
    process = sandcell.start("run", *args, "-c", "print('ran')", stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=HANG)
    assert process.returncode in (code if isinstance(code, set) else {code})
    assert out == b""
    text = err.decode()
    assert text.startswith("sandcell: ") and text.count("\n") == 1
    assert said in text
    assert sandcell.containers_of(process.pid) == []


# ---- doctor ------------------------------------------------------------------------------

def test_doctor_examines_the_engine(sandcell):
    process = sandcell.start("doctor", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=HANG)
    assert (process.returncode, err) == (0, b""), out
    found = [json.loads(line) for line in out.splitlines()]
    assert {f["check"] for f in found if f["status"] == "ok"} == {
        "engine", "host", "runtime", "cgroup", "session", "limits", "isolation", "close"}
    (isolation,) = [f["message"] for f in found if f["check"] == "isolation"]
    assert isolation == "no capability, no new privileges, seccomp, no network, read-only root"
    (limits,) = [f["message"] for f in found if f["check"] == "limits" and f["status"] == "ok"]
    assert "memory 2048 MiB" in limits and "pids 256" in limits
    assert sandcell.containers_of(process.pid) == []
    text = sandcell("doctor").stdout.decode()
    assert sandcell.host in text and "SANDCELL_HOST" in text


def test_doctor_without_an_engine_says_where_it_looked(sandcell):
    done = sandcell("doctor", "--host", "unix:///no/such.sock")
    assert done.returncode == 1
    assert b"/no/such.sock" in done.stdout and b"->" in done.stdout


# ---- sessions that outlive a command -------------------------------------------------------

@pytest.fixture
def named(sandcell):
    """The name of a session that is open."""
    name = f"test-cli-{os.getpid()}"
    done = sandcell("open", "--name", name, "--lease", "5m")
    assert (done.returncode, done.stdout) == (0, name.encode() + b"\n"), done
    yield name
    sandcell("close", name)


def test_variables_stay_from_one_command_to_the_next(sandcell, named, tmp_path):
    script = tmp_path / "job.py"
    script.write_text("import sys\ny = x + 1\nprint(y, sys.argv[1:])\n")
    assert sandcell("exec", named, "-c", "x = 41").returncode == 0
    done = sandcell("exec", named, script, "a", "-b")
    assert (done.returncode, done.stdout) == (0, b"42 ['a', '-b']\n"), done
    done = sandcell("exec", named, "-", stdin=b"print(x + y)")
    assert (done.returncode, done.stdout) == (0, b"83\n"), done
    assert sandcell("reset", named).returncode == 0
    assert b"NameError" in sandcell("exec", named, "-c", "x").stderr


def test_exec_tells_how_it_ended(sandcell, named):
    assert sandcell("exec", named, "-c", "1/0").returncode == 1
    assert sandcell("exec", named, "--timeout", "100ms", "-c", "while True: pass").returncode == 124
    done = sandcell("exec", named, "--json", "-c", "6 * 7")
    assert json.loads(done.stdout)["output"] == 42


def test_another_process_interrupts(sandcell, named):
    code = "print('ready', flush=True)\nwhile True: pass"
    process = sandcell.start("exec", named, "-c", code, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    wait_until_running(process)
    done = sandcell("exec", named, "--no-wait", "-c", "1")
    assert done.returncode == 125 and b"another client's call is running" in done.stderr
    figures = json.loads(sandcell("stats", named).stdout)
    assert len(figures["running"]) == 1 and figures["lease_left_ms"] is None
    assert sandcell("interrupt", named).returncode == 0
    assert process.wait(HANG) == 130
    process.stdout.close()


def test_a_closed_session_is_not_found(sandcell, named):
    assert sandcell("close", named).returncode == 0
    done = sandcell("exec", named, "--json", "-c", "1")
    assert done.returncode == 125 and f"no session '{named}'".encode() in done.stderr
    assert json.loads(done.stdout)["status"] == "failed"


def test_ps_lists_a_session_until_it_is_closed(sandcell, named):
    def row():
        rows = map(json.loads, sandcell("ps", "--json").stdout.splitlines())
        return [row for row in rows if row["name"] == named]

    (found,) = row()
    assert (found["state"], found["kind"], found["lease_ms"]) == ("running", "named", 300000)
    assert found["owner"]["uid"] == os.getuid()
    assert re.search(rf"^{named} +running +\d+s ", sandcell("ps").stdout.decode(), re.M)
    sandcell("close", named)
    assert row() == []


def test_gc_finds_what_a_killed_owner_left_and_nothing_else(sandcell, named):
    code = "print('ready', flush=True)\nwhile True: pass"
    process = sandcell.start("run", "--lease", "10m", "-c", code, stdout=subprocess.PIPE)
    wait_until_running(process)
    (container,) = [found["Id"] for found in sandcell.containers_of(process.pid)]

    def found():
        """By container; only said, since this engine may have other users."""
        rows = map(json.loads, sandcell("gc", "--dry-run", "--json").stdout.splitlines())
        return {row["container"]: row for row in rows}

    assert container not in found()
    process.kill()
    process.wait(HANG)
    process.stdout.close()
    assert found()[container]["reason"] == "its owner is gone"
    assert found()[container]["removed"] is False
    assert named not in [row["name"] for row in found().values()]
    name = found()[container]["name"]
    assert sandcell("close", name).returncode == 0
    assert sandcell.containers_of(process.pid) == []


def kill_before_start(sandcell):
    """Pid of a client that was killed between creating its container and starting it."""
    for _ in range(20):
        process = sandcell.start("run", "--verbose", "-c", "1", stderr=subprocess.PIPE)
        while b"/containers/create" not in process.stderr.readline():
            pass
        process.kill()
        process.wait(HANG)
        process.stderr.close()
        if [found["State"] for found in sandcell.containers_of(process.pid)] != ["running"]:
            return process.pid
    pytest.fail("20 clients were killed, but each had started its container")


def test_the_next_open_removes_what_was_never_started(sandcell):
    pid = kill_before_start(sandcell)
    assert len(sandcell.containers_of(pid)) == 1
    assert sandcell("run", "-c", "1").returncode == 0
    assert sandcell.containers_of(pid) == []


def test_output_that_goes_nowhere_is_not_a_success(sandcell):
    done = subprocess.run(["sh", "-c", 'exec "$0" run -c "print(1)" >&-', BINARY],
                          env=sandcell.env, stderr=subprocess.PIPE, timeout=HANG)
    assert done.returncode == 125 and b"cannot write" in done.stderr
