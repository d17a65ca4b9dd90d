"""Threads for calls that wait.

Daemon threads, started when they are needed and gone when they have been idle for a while.
An exit never waits for them: the clean-up closes the sessions, and so ends their calls.
"""

from __future__ import annotations

import _thread
import contextvars
import queue
import threading
from typing import Any, Callable, Optional, TypeVar

from . import _cleanup

MAX_THREADS = 256  # calls beyond that wait for one to end
IDLE_SECONDS = 10.0

_T = TypeVar("_T")
Job = Callable[[], Any]


class _Pool:
    def __init__(self) -> None:
        self._jobs: "queue.SimpleQueue[Job]" = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0  # threads that wait, less the jobs that wait

    def submit(self, job: Job) -> None:
        with self._lock:
            self._free -= 1
            start = self._free < 0 and self._threads < MAX_THREADS
            if start:
                self._threads += 1
                self._free += 1
        self._jobs.put(job)
        if start:
            self._start()

    def _start(self) -> None:
        try:
            # threading.Thread.start() waits for the thread to run, in an event loop, too.
            _thread.start_new_thread(self._work, ())
        except RuntimeError:  # no more threads, or the interpreter is ending: do it here
            with self._lock:
                self._threads -= 1
            self._jobs.get()()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._free > 0:  # else a job for this thread is on its way
                        self._free -= 1
                        self._threads -= 1
                        return
                continue
            job()
            del job  # with what it holds, while this thread waits
            with self._lock:
                self._free += 1


_pool = _Pool()


def submit(job: Job) -> None:
    """Run a job, which must not raise, on some thread."""
    _pool.submit(job)


class _Outcome:
    """What a function that runs on another thread came to."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.value: Any = None
        self.error: Optional[BaseException] = None

    def run(self, function: Job) -> None:
        try:
            self.value = function()
        except BaseException as error:  # noqa: B902 - raised by the waiting thread
            self.error = error
        finally:
            self.done.set()


def run_aside(function: Callable[[], _T], cancel: Optional[Callable[[], Any]] = None) -> _T:
    """Run a function that may wait long, or call back, so that Ctrl-C stays possible.

    In the main thread that means: on another one, while this one waits and runs signal
    handlers.  When one of those raises, ``cancel`` is called and the function's end awaited
    (another exception ends that as well).  Other threads just call the function.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return function()
    outcome = _Outcome()
    context = contextvars.copy_context()
    submit(lambda: outcome.run(lambda: context.run(function)))
    try:
        outcome.done.wait()
    except BaseException:
        if cancel is not None:
            cancel()
        outcome.done.wait()
        raise
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def _in_child() -> None:
    global _pool
    _pool = _Pool()


_cleanup.on_fork(_in_child)
