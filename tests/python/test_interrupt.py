"""Ctrl-C: in a Python of its own, which gets the signal while a call waits."""
import signal
import subprocess
import sys

from conftest import environment

PRELUDE = """
import signal, sys, threading, time
import sandcell

def ready():
    print("ready", flush=True)
"""


def run_and_signal(body, times=1, number=signal.SIGINT, python=sys.executable):
    """Run a program, signal it after each "ready", and return what it says then."""
    process = subprocess.Popen([python, "-c", PRELUDE + body], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment())
    try:
        for _ in range(times):
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert "Exception ignored" not in err, err
    return out


def test_ctrl_c_stops_the_code_and_keeps_the_session():
    out = run_and_signal("""
with sandcell.Session() as session:
    threading.Timer(0.2, ready).start()
    try:
        session.execute("block 60000")
    except KeyboardInterrupt:
        print("interrupted")
    print(session.execute("value 7").output)
""")
    assert out == "interrupted\n7\n"


def test_signal_at_any_moment_leaves_the_session_usable():
    """Short calls one after the other, so that the signal comes between any two steps."""
    out = run_and_signal("""
import random

def handler(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, handler)
caught = 0
with sandcell.Session() as session:
    for _ in range(500):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 5e-4))
            while True:
                session.execute("value 1")
        except KeyboardInterrupt:
            caught += 1
    print(caught, session.execute("value 7").output)
""", times=0)
    assert out == "500 7\n"


def test_ctrl_c_while_output_floods_a_callback():
    out = run_and_signal("""
first = True
def on_output(stream, data):
    global first
    if first:
        ready()
    first = False

with sandcell.Session() as session:
    try:
        session.execute("spew 1000000000000", on_output=on_output)
    except KeyboardInterrupt:
        print("interrupted")
    print(session.execute("value 7").output)
""")
    assert out == "interrupted\n7\n"


def test_ctrl_c_in_a_stream():
    out = run_and_signal("""
with sandcell.Session() as session:
    try:
        for piece in session.stream("print go\\nblock 60000"):
            if piece.text == "go":
                ready()
    except KeyboardInterrupt:
        print("interrupted")
    print(session.execute("value 7").output)
""")
    assert out == "interrupted\n7\n"


def test_ctrl_c_while_a_session_opens(fake):
    out = run_and_signal("""
import ctypes, gc, os
library = ctypes.CDLL(os.environ["SANDCELL_LIBRARY"])
ctypes.c_int.in_dll(library, "fake_open_ms").value = 60000
threading.Timer(0.2, ready).start()
try:
    sandcell.Session()
except KeyboardInterrupt:
    print("interrupted")
gc.collect()
print((ctypes.c_int * 4).in_dll(library, "fake_live")[1])
""")
    assert out == "interrupted\n0\n"


def test_handlers_of_other_signals_run_while_a_call_waits():
    out = run_and_signal("""
seen = []
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
with sandcell.Session() as session:
    threading.Timer(0.2, ready).start()
    began = time.monotonic()
    result = session.execute("block 1000")
    print(result.status, seen == [signal.SIGUSR1])
""", number=signal.SIGUSR1)
    assert out == "ok True\n"


def test_exception_of_a_handler_is_raised_by_the_call():
    out = run_and_signal("""
def handler(number, frame):
    raise LookupError("from the handler")

signal.signal(signal.SIGUSR1, handler)
with sandcell.Session() as session:
    threading.Timer(0.2, ready).start()
    try:
        session.execute("block 60000")
    except LookupError as error:
        print(error)
    print(session.execute("value 7").output)
""", number=signal.SIGUSR1)
    assert out == "from the handler\n7\n"


def test_handler_may_interrupt_the_session_it_interrupts():
    out = run_and_signal("""
with sandcell.Session() as session:
    signal.signal(signal.SIGUSR1, lambda number, frame: session.interrupt())
    threading.Timer(0.2, ready).start()
    print(session.execute("block 60000").status)
""", number=signal.SIGUSR1)
    assert out == "interrupted\n"


def test_ctrl_c_ends_an_asyncio_program():
    out = run_and_signal("""
import asyncio

async def main():
    async with sandcell.AsyncSession() as session:
        asyncio.get_running_loop().call_later(0.2, ready)
        await session.execute("block 60000")

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
""")
    assert out == "interrupted\n"
