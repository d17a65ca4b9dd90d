"""What happens to sessions that nobody closed, and to those of a parent process."""
import gc
import os
import subprocess
import sys
import time
import warnings

import pytest

import sandcell
from conftest import environment


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def python(program, *options):
    done = subprocess.run([sys.executable, *options, "-c", program],
                          env=environment(FAKE_REPORT="1"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    return done


def test_forgotten_session_is_closed_with_a_warning(fake):
    before = fake.closed
    with pytest.warns(ResourceWarning, match="unclosed session 'fake'"):
        session = sandcell.Session()
        del session
        gc.collect()
    wait_until(lambda: fake.closed == before + 1 and fake.live()["sessions"] == 0)


def test_closed_session_is_collected_without_a_word(fake):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = sandcell.Session()
        session.close()
        del session
        gc.collect()
    assert fake.live()["sessions"] == 0


def test_sessions_open_at_exit_are_closed_at_once():
    done = python("""
import ctypes, os, sandcell, time
library = ctypes.CDLL(os.environ["SANDCELL_LIBRARY"])
ctypes.c_int.in_dll(library, "fake_close_ms").value = 200
sessions = [sandcell.Session() for _ in range(100)]
""", "-X", "dev")
    assert "unclosed session 'fake'" in done.stderr
    assert "closed 100\n" in done.stderr


def test_session_that_another_atexit_function_uses_is_still_open():
    done = python("""
import atexit, sandcell
session = sandcell.Session()
atexit.register(lambda: print(session.execute("value 3").output))
""")
    assert done.stdout == "3\n" and "closed 1\n" in done.stderr


def test_exit_does_not_wait_for_the_code(fake):
    done = python("""
import sandcell, threading
session = sandcell.Session()
begun = threading.Event()
thread = threading.Thread(target=session.execute, args=("print x\\nblock 60000",), daemon=True,
                          kwargs={"on_output": lambda stream, data: begun.set()})
thread.start()
begun.wait(30)
print("leaving")
""")
    assert done.stdout == "leaving\n"


def test_exit_closes_async_sessions_whose_loop_is_gone():
    done = python("""
import asyncio, sandcell

async def main():
    session = sandcell.AsyncSession()
    await session.open()
    return session

session = asyncio.run(main())
""", "-W", "always::ResourceWarning")
    assert "unclosed session 'fake'" in done.stderr


def in_child(check):
    """Run a check in a forked child; the test fails when it does."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            check()
            code = 0
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


def test_child_must_not_use_the_parents_session(session, fake):
    def check():
        for call in (lambda: session.execute("value 1"), session.reset, session.describe):
            with pytest.raises(sandcell.ForkError):
                call()
        before = fake.closed
        session.interrupt()
        session.close()
        assert fake.closed == before

    in_child(check)
    assert session.execute("value 1").output == 1


def test_child_opens_sessions_of_its_own(session):
    def check():
        with sandcell.Session() as mine:
            assert mine.execute("value 2").output == 2
            assert list(mine.stream("value 3"))[-1].output == 3

    in_child(check)
    assert session.execute("value 1").output == 1


def test_child_that_ends_closes_nothing():
    done = python("""
import ctypes, os, sandcell, sys
library = ctypes.CDLL(os.environ["SANDCELL_LIBRARY"])
session = sandcell.Session()
pid = os.fork()
if pid == 0:
    del session
    import gc; gc.collect()
    import atexit; atexit._run_exitfuncs()
    os._exit(ctypes.c_int.in_dll(library, "fake_closed").value)
print(os.waitpid(pid, 0)[1])
session.close()
""", "-W", "error")
    assert done.stdout == "0\n"


def test_fork_while_another_thread_has_a_call(session):
    import threading

    begun = threading.Event()
    thread = threading.Thread(target=session.execute, args=("print x\nblock 60000",),
                              kwargs={"on_output": lambda stream, data: begun.set()})
    thread.start()
    assert begun.wait(30)

    def check():
        session.interrupt()
        session.close()
        with sandcell.Session() as mine:
            assert mine.execute("value 2").output == 2

    in_child(check)
    session.interrupt()
    thread.join(30)
    assert not thread.is_alive()
