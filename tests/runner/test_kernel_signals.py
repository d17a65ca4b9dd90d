"""SIGINT reaches user code, whole frames leave, and no signal hits a later cell."""

import os
import signal
import time
from pathlib import Path

import pytest
from harness import VERSION, KernelDied

BUSY = "print('begun', flush=True)\n"


def interrupted(kernel, code, asleep=False):
    number = kernel.start(BUSY + code)
    kernel.wait_for_output(b"begun\n")
    while asleep and Path("/proc/%d/stat" % kernel.pid).read_text().rpartition(")")[2].split()[0] != "S":
        pass
    kernel.interrupt()
    result = kernel.wait(number)
    kernel.drain_signals()
    return result


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time\ntime.sleep(1000)",
        "import subprocess\nsubprocess.run(['sleep', '1000'])",
        "import threading\nthreading.Event().wait()",
        "import threading\nlock = threading.Lock(); lock.acquire(); lock.acquire()",
        "import queue\nqueue.Queue().get()",
        "import os\nr, w = os.pipe()\nos.read(r, 1)",
        "import asyncio\nawait asyncio.sleep(1000)",
        "import asyncio\nasyncio.run(asyncio.sleep(1000))",
        "import asyncio\nwhile True: await asyncio.sleep(0)",
        "class R:\n    def __repr__(self):\n        while True: pass\nR()",
        "class R:\n    def _repr_html_(self):\n        while True: pass\nR()",
        "class S:\n    def write(self, t): pass\n    def flush(self):\n        while True: pass\nimport sys; sys.stdout = S()",
        "import select\nselect.select([], [], [])",
        "import signal\nsignal.pause()",
        "def f():\n    yield from iter(int, 1)\nlist(x for x in f() if x)",
    ],
)
def test_interrupt_ends_it_and_keeps_the_state(kernel, code):
    kernel.execute("keep = 5")
    result = interrupted(kernel, code)
    assert result.status == "error" and result.error.splitlines()[-1] == "KeyboardInterrupt", result
    assert kernel.execute("keep").output == 5


def test_interrupt_of_an_exception_that_will_not_be_shown(kernel):
    """traceback itself catches the interrupt: the cell ends all the same."""
    kernel.execute("keep = 5")
    for _ in range(10):
        result = interrupted(kernel, "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E")
        assert result.status == "error"
        assert result.error.endswith(("E: <exception str() failed>", "KeyboardInterrupt"))
    assert kernel.execute("keep").output == 5


def test_the_traceback_shows_where(kernel):
    error = interrupted(kernel, "import time\ndef f():\n    time.sleep(1000)\nf()", asleep=True).error
    assert 'File "<cell 1>", line 4, in f' in error and "time.sleep(1000)" in error
    code = "import asyncio\nasync def g():\n    await asyncio.sleep(1000)\nawait g()"
    error = interrupted(kernel, code, asleep=True).error
    assert 'File "<cell 2>", line 4, in g' in error and "sandcell" not in error
    assert error.splitlines()[-1] == "KeyboardInterrupt"


def test_an_await_is_interrupted_at_any_moment(kernel):
    """Also while the loop holds the only reference to what comes next."""
    kernel.execute(
        "import asyncio\nasync def other():\n    while True: await asyncio.sleep(0)\n"
        "seen = 0\nasync def spin():\n    global seen\n    while True:\n        seen += 1\n        await asyncio.sleep(0)"
    )
    for round_ in range(150):
        code = "await spin()" if round_ % 3 else "task = asyncio.create_task(other()); await spin()"
        number = kernel.start(BUSY + code)
        kernel.wait_for_output(b"begun\n")
        time.sleep(0.0001 * (round_ % 20))
        kernel.interrupt()
        result = kernel.wait(number)
        assert result.status == "error" and "KeyboardInterrupt" in result.error
        assert b"never retrieved" not in result.stderr and kernel.drain_signals() is False
    assert kernel.execute("await asyncio.sleep(0, 5)").output == 5


def test_an_await_may_handle_it(kernel):
    code = (
        "import asyncio\ntry:\n    await asyncio.sleep(1000)\nexcept asyncio.CancelledError:\n    print('handled')\n7"
    )
    result = interrupted(kernel, code, asleep=True)
    assert (result.status, result.output, result.stdout) == ("ok", 7, b"begun\nhandled\n")
    number = kernel.start("async def busy():\n    print('busy')\n    while True: pass\nawait busy()")
    kernel.wait_for_output(b"busy\n")
    kernel.interrupt()
    assert "in busy" in kernel.wait(number).error
    assert "KeyboardInterrupt" in interrupted(kernel, "await asyncio.sleep(1000)").error
    result = kernel.execute("t = asyncio.create_task(asyncio.sleep(100)); t.cancel(); await t")
    assert result.error.splitlines()[-1].endswith("CancelledError")


def test_code_may_handle_it(kernel):
    code = "import time\ntry:\n    time.sleep(1000)\nexcept KeyboardInterrupt:\n    print('handled')\n7"
    result = interrupted(kernel, code, asleep=True)
    assert (result.status, result.output, result.stdout) == ("ok", 7, b"begun\nhandled\n")


def test_an_interrupt_that_came_before_the_cell_hits_it(kernel):
    """Sent after the frame, before the gate opens: it waits for the code, and is not lost."""
    os.kill(kernel.pid, signal.SIGSTOP)
    number = kernel.start("while True: pass")
    kernel.interrupt()
    os.kill(kernel.pid, signal.SIGCONT)
    assert kernel.wait(number).error.endswith("KeyboardInterrupt")


def test_drain_takes_a_late_interrupt_away(kernel):
    kernel.execute("1")
    kernel.interrupt()
    assert kernel.drain_signals() is True
    assert kernel.drain_signals() is False
    assert kernel.execute("import time\ntime.sleep(0.05)\n2").output == 2


def test_drain_with_threads_that_could_take_the_signal(kernel):
    kernel.execute(
        "import threading, time\nstop = False\ndef spin():\n    while not stop: time.sleep(0.0005)\n"
        "threads = [threading.Thread(target=spin) for _ in range(4)]\n[t.start() for t in threads]"
    )
    for _ in range(200):
        assert kernel.execute("1").output == 1
        kernel.interrupt()
        kernel.drain_signals()
        assert kernel.execute("2").output == 2
    assert kernel.execute("stop = True\n[t.join() for t in threads]").status == "ok"


@pytest.mark.parametrize("code", ["1", "x = 1", "1/0", "print('x' * 1000)", "object()", "import sys; sys.exit(2)"])
def test_interrupts_at_any_moment(kernel, code):
    """The reply is always one whole frame, and after a drain the next cell is never hit."""
    begun = time.monotonic()
    cell = kernel.execute
    cell(code)
    each = min(time.monotonic() - begun, 0.001)
    lost = 0
    for round_ in range(400):
        number = kernel.start(code)
        target = time.perf_counter() + each * (round_ % 40) / 30
        while time.perf_counter() < target:
            pass
        kernel.interrupt()
        result = kernel.wait(number)
        consumed = kernel.drain_signals()
        lost += consumed == ("KeyboardInterrupt" in result.error)
        assert cell("40 + 2").output == 42
    # Each is seen by the code or taken by the drain; but traceback has a bare `except` or two.
    assert lost <= 8


def test_a_storm_of_interrupts(kernel):
    """More than a supervisor ever sends, from a child of the code itself."""
    try:
        storm(kernel)
    except KernelDied as death:
        # Before 3.11 a handler can raise between any two instructions: SIGINT may end the process.
        assert VERSION < (3, 11) and os.WTERMSIG(death.status) == signal.SIGINT


def storm(kernel):
    kernel.execute("import os, time, signal, subprocess, sys")
    result = kernel.execute(
        "me = os.getpid()\n"
        "storm = subprocess.Popen([sys.executable, '-c', 'import os, sys, time\\n"
        "for _ in range(20000): os.kill(int(sys.argv[1]), 2); sum(range(200))', str(me)])\n"
        "time.sleep(1000)"
    )
    assert result.status == "error" and "KeyboardInterrupt" in result.error
    for _ in range(300):
        result = kernel.execute("1")
        assert result.status in ("ok", "error")
    ended = "while storm.poll() is None: time.sleep(0.001)\n"
    while kernel.execute(ended).status != "ok":
        pass
    kernel.drain_signals()
    assert kernel.execute("5").output == 5


def test_handlers_of_the_user_end_with_their_cell(kernel):
    """So that a cell can be interrupted whatever an earlier one did."""
    kernel.execute("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert "KeyboardInterrupt" in interrupted(kernel, "while True: pass").error
    kernel.execute("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])")
    assert "KeyboardInterrupt" in interrupted(kernel, "while True: pass").error
    result = interrupted(
        kernel,
        "got = []\nsignal.signal(signal.SIGINT, lambda *a: got.append(1))\nimport time\n"
        "while not got: time.sleep(0.1)\ngot",
        asleep=True,
    )
    assert result.output == [1]


def test_the_usual_handler_is_in_force(kernel):
    assert kernel.execute("import signal\nsignal.getsignal(signal.SIGINT) is signal.default_int_handler").output
    assert kernel.execute("signal.pthread_sigmask(signal.SIG_BLOCK, [])").output == "set()"
    result = kernel.execute("import subprocess\nsubprocess.run(['grep', 'Sig[BI]', '/proc/self/status'])")
    blocked, ignored = result.stdout.split(b"\n")[:2]
    assert int(blocked.split()[1], 16) == 0
    assert int(ignored.split()[1], 16) & 1 << signal.SIGINT - 1 == 0


def test_alarms_fire_in_cells_only(kernel):
    kernel.execute("import signal, time\nclass Alarm(Exception): pass\ndef ring(*a): raise Alarm\n")
    result = kernel.execute("signal.signal(signal.SIGALRM, ring)\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(1000)")
    assert result.error.endswith("Alarm")
    assert kernel.execute("signal.setitimer(signal.ITIMER_REAL, 0.01)\n3").output in (3, "(0.0, 0.0)", 3)
    time.sleep(0.05)  # it rings between the cells
    result = kernel.execute("time.sleep(0.5)")
    assert result.status == "error" and result.error.splitlines()[-1].endswith("Alarm")
    assert kernel.execute("4").output == 4


def test_displays_are_whole_under_interrupts(kernel):
    kernel.execute("class Page:\n    def _repr_html_(self): return 'h' * 200000\npage = Page()")
    for round_ in range(60):
        number = kernel.start(BUSY + "while True: display(page)")
        kernel.wait_for_output(b"begun\n")
        time.sleep(0.0005 * (round_ % 10))
        kernel.interrupt()
        result = kernel.wait(number)
        assert all(len(parts["text/html"]) == 200000 for parts in result.displays)
        kernel.drain_signals()
    assert kernel.execute("1").output == 1


def test_a_tracer_that_hangs_can_be_interrupted(kernel):
    code = "import sys\ndef trace(frame, event, arg):\n    while True: pass\nsys.settrace(trace)\n(lambda: 1)()"
    assert "KeyboardInterrupt" in interrupted(kernel, code).error
    assert kernel.execute("1").output == 1
    code = "def profile(frame, event, arg):\n    if event == 'call':\n        while True: pass\nsys.setprofile(profile)"
    assert interrupted(kernel, code).status in ("ok", "error")
    assert kernel.execute("2").output == 2


def test_tracing_ends_with_its_cell(kernel):
    code = "calls = []\ndef trace(frame, event, arg): calls.append(frame.f_code.co_filename)\nsys.settrace(trace)\n"
    kernel.execute("import sys\ndef f(): pass\n" + code + "f()")
    assert kernel.execute("set(calls), sys.gettrace()").output == "({'<cell 1>'}, None)"
