"""Ctrl-C while the library waits.

Python's signal handlers run in the main thread, between two instructions of Python code;
while that thread waits inside the library there are none.  So the library looks in, soon
after a signal and a few times a second, and what a handler raises then (KeyboardInterrupt,
or whatever a program's own handler raises) stops the call and is raised once it has ended.
"""

from __future__ import annotations

from typing import Any, Generator, Optional

from . import _ffi


class Watch:
    """The wait callback of one session, and what it found."""

    def __init__(self) -> None:
        self.state = _State()
        # A generator, because a handler's exception appears where the interpreter takes up
        # Python code again.  In a function that is its entry, before any `try` of its own,
        # and ctypes could only print the exception; in a generator it is the `yield`.
        steps = _look_in(self.state)
        next(steps)
        self.callback = _ffi.WAIT_FN(steps.send)

    def take_raised(self) -> Optional[BaseException]:
        raised = self.state.raised
        self.state.raised = None
        return raised


class _State:
    __slots__ = ("raised", "stop")

    def __init__(self) -> None:
        self.raised: Optional[BaseException] = None
        self.stop = False  # set by another thread: give the call up


def _look_in(state: _State) -> Generator[int, Any, None]:
    while True:
        try:
            while True:
                yield 1 if state.stop or state.raised is not None else 0
        except GeneratorExit:
            return
        except BaseException as error:  # noqa: B902 - kept, and raised after the call
            state.raised = error
