"""Blocking and asyncio sessions."""
import asyncio
import hashlib
import math
import os
import signal
import subprocess
import sys
import threading

import pytest

import sandcell


def exists(container):
    """Whether the engine still knows a container, asked over its own socket."""
    import http.client
    import socket

    class Connection(http.client.HTTPConnection):
        def connect(self):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(os.environ["SANDCELL_HOST"][len("unix://"):])

    connection = Connection("engine")
    connection.request("GET", f"/containers/{container}/json")
    status = connection.getresponse().status
    connection.close()
    return status == 200


def test_state_output_and_errors(fresh):
    result = fresh.execute("x = 41\nprint('out')\nimport sys\nprint('err', file=sys.stderr)")
    assert (result.status, result.output, result.stdout, result.stderr) == (
        "ok", None, "out\n", "err\n")
    assert fresh.execute("x + 1").output == 42
    result = fresh.execute("1 / 0")
    assert (result.success, result.status, result.state_preserved) == (False, "error", True)
    assert result.error.endswith("ZeroDivisionError: division by zero\n") or \
        result.error.endswith("ZeroDivisionError: division by zero")
    result = fresh.execute("object()")
    assert result.output_kind == "repr" and result.output.startswith("<object object at")
    assert result.duration > 0 and result.usage["cpu_ns"] > 0


@pytest.mark.parametrize("value", [
    0, -1, 2**70, 1.5, "é\0\n\ud7ff", True, [1, [2, {"a": None}]], {}, "x" * 100_000])
def test_plain_values_arrive_as_they_are(fresh, value):
    result = fresh.execute(repr(value))
    assert result.output == value and type(result.output) is type(value)


def test_values_that_do_not_survive_are_shown(fresh):
    for text in ("(1, 2)", "float('nan')", "{1: 2}", "b'x'"):
        result = fresh.execute(text)
        assert result.output_kind == "repr" and isinstance(result.output, str), text


def test_stdin_script_and_arguments(fresh):
    result = fresh.execute("import sys\nprint(sys.stdin.read(), sys.argv)", stdin="in",
                           script="/workspace/a.py", args=["1", "zwei"])
    assert result.stdout == "in ['/workspace/a.py', '1', 'zwei']\n"


def test_questions(fresh):
    fresh.execute("number = 41")
    fresh.execute("text = 'x'")
    assert [(v["name"], v["type"]) for v in fresh.names()] == [("number", "int"), ("text", "str")]
    assert [cell["code"] for cell in fresh.history()] == ["number = 41", "text = 'x'"]
    assert "number" in fresh.complete("num")["matches"]


def test_artifacts_and_files(tmp_path, fresh):
    result = fresh.execute("open('made.txt', 'w').write('x')\nprint('y' * 100_000)",
                           artifacts=True, stdout_file=tmp_path / "out", output_max=1000)
    assert result.artifacts["created"] == ["made.txt"] and result.truncated
    assert (tmp_path / "out").read_text() == "y" * 100_000 + "\n"


def test_timeout_keeps_the_state(fresh):
    fresh.execute("x = 1")
    result = fresh.execute("import time\nprint('begun', flush=True)\ntime.sleep(60)", timeout=0.5)
    assert (result.status, result.stdout, result.state_preserved) == ("timeout", "begun\n", True)
    assert fresh.execute("x", timeout=math.inf).output == 1


def test_exit_status(fresh):
    assert fresh.execute("raise SystemExit(3)").exit_code == 3
    assert fresh.execute("raise SystemExit(0)").success


def test_killed_kernel_says_that_the_state_is_lost(fresh):
    result = fresh.execute("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert (result.status, result.signal, result.state_preserved) == ("signaled", 9, False)
    assert fresh.execute("1").output == 1


def test_displays(fresh):
    result = fresh.execute("display({'text/html': '<b>x</b>'}, raw=True)\ndisplay([1])")
    assert result.data[0]["text/html"] == "<b>x</b>"
    assert result.data[1]["text/plain"] == "[1]"


def test_every_byte_of_a_flood_reaches_the_callback(fresh):
    ours = hashlib.sha256()
    result = fresh.execute("""
import hashlib, os
block, digest = os.urandom(65536), hashlib.sha256()
for _ in range(400):
    at = 0
    while at < len(block):
        at += os.write(1, block[at:])
    digest.update(block)
digest.hexdigest()""", on_output=lambda stream, data: ours.update(data))
    assert result.output == ours.hexdigest() and result.truncated


def test_stream(fresh):
    *pieces, result = fresh.stream("for i in range(3): print(i, flush=True)\n'done'")
    assert "".join(piece.text for piece in pieces) == "0\n1\n2\n"
    assert result.output == "done"


def test_stream_left_early_interrupts_the_code(fresh):
    for piece in fresh.stream("x = 1\nwhile True: print('x' * 1000)"):
        break
    assert fresh.execute("x").output == 1


def test_callback_that_raises_stops_the_code(fresh):
    with pytest.raises(ZeroDivisionError):
        fresh.execute("x = 1\nwhile True: print('x' * 1000)", on_output=lambda *_: 1 / 0)
    assert fresh.execute("x").output == 1


def test_interrupt_keeps_the_state(fresh):
    fresh.execute("x = 5")
    result = fresh.execute("import time\nprint('go', flush=True)\ntime.sleep(60)",
                           on_output=lambda *_: fresh.interrupt())
    assert (result.status, result.state_preserved) == ("interrupted", True)
    assert fresh.execute("x").output == 5


@pytest.mark.parametrize("code", ["import time; time.sleep(60)", "while True: pass",
                                  "while True: print('x' * 100)"])
def test_ctrl_c_stops_the_code_and_keeps_the_state(code):
    program = f"""
import os, signal, threading, sandcell
with sandcell.Session() as session:
    session.execute("x = 7")
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        session.execute({code!r})
    except KeyboardInterrupt:
        print("interrupted", session.execute("x").output, session.container)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=120,
        check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    said, number, container = done.stdout.split()
    assert (said, number) == ("interrupted", "7") and not exists(container)


def test_commands(fresh):
    result = fresh.execute_cli("echo one two | tr a-z A-Z | cut -d ' ' -f 2")
    assert (result.success, result.stdout, result.output) == (True, "TWO\n", None)
    assert (result.exit_code, result.stages) == (0, [0, 0, 0])
    result = fresh.execute_cli("cat /no/such/file")
    assert not result.success and "/no/such/file" in result.error and result.exit_code == 1
    result = fresh.execute_cli("rm -rf /")
    assert result.status == "denied" and "rm" in result.error


def test_workspace_is_shared(tmp_path):
    (tmp_path / "in.txt").write_text("hello")
    with sandcell.Session(workspace=tmp_path) as session:
        result = session.execute(
            "text = open('in.txt').read()\nopen('out.txt', 'w').write(text.upper())\n"
            "import os\nos.getcwd()")
        assert result.output == "/workspace"
    assert (tmp_path / "out.txt").read_text() == "HELLO"


def test_run_is_a_program_of_its_own():
    result = sandcell.run("import atexit, sys\natexit.register(print, 'bye')\nprint(sys.argv[1])",
                          args=["x"])
    assert result.stdout == "x\nbye\n"
    assert sandcell.run("6 * 7").output == 42


def test_describe_tells_limits_and_warnings():
    with sandcell.Session(memory="300m", pids=77) as session:
        told = session.describe()
    assert told["limits"]["in_force"]["memory_bytes"] == 300 << 20
    assert told["limits"]["in_force"]["pids"] == 77
    assert told["network"] == "none" and isinstance(told["warnings"], list)


def test_image_that_is_missing():
    with pytest.raises(sandcell.NotFoundError, match="no-such-image"):
        sandcell.Session("sandcell/no-such-image")


def test_workspace_that_is_missing(tmp_path):
    with pytest.raises(sandcell.InvalidArgumentError, match="missing"):
        sandcell.Session(workspace=tmp_path / "missing")


def test_engine_describes_itself():
    told = sandcell.Engine().describe()
    assert told["kind"] in ("docker", "podman") and told["cpus"] >= 1


def test_closed_and_forgotten_containers_are_gone():
    session = sandcell.Session()
    container = session.container
    assert exists(container)
    session.close()
    assert not exists(container)
    program = "import sandcell\ns = sandcell.Session()\nprint(s.container)"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], stdout=subprocess.PIPE, text=True,
        check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=120)
    assert not exists(done.stdout.strip())


def test_closed_sessions_leave_no_descriptor():
    def work():
        with sandcell.Session(memory="128m") as session:
            session.execute("1")
            list(session.stream("print(1)"))

    work()
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        work()
    assert len(os.listdir("/proc/self/fd")) <= len(before)


def test_many_threads_with_sessions_of_their_own():
    outputs = {}

    def work(number):
        with sandcell.Session(memory="128m") as session:
            session.execute(f"x = {number}")
            outputs[number] = session.execute("x").output

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {n: n for n in range(8)}


def test_cancelled_task_interrupts_the_code():
    async def main():
        async with sandcell.AsyncSession() as session:
            await session.execute("x = 3")
            begun = asyncio.Event()
            task = asyncio.ensure_future(session.execute(
                "print('go', flush=True)\nwhile True: pass", on_output=lambda *_: begun.set()))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await session.execute("x")).output == 3

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_restarted_session_names_its_new_container():
    with sandcell.Session() as opened:
        before = opened.container
        subprocess.run(
            ["curl", "-sSf", "-X", "POST", "--unix-socket", os.environ["SANDCELL_HOST"].split("://")[1],
             f"http://engine/containers/{before}/kill"], check=True)
        assert opened.execute("1").container_restarted
        assert opened.container != before
