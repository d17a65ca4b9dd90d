"""Closes what was forgotten, and keeps hands off what belongs to another process.

An open session is listed here until it is closed.  A session object that is collected
while its container runs is closed on a thread of its own (a collection may happen
anywhere, so it must not wait for an engine); what is open when the interpreter ends is
closed then.  Both give a ResourceWarning.  After a fork the child forgets all of it: the
sessions are the parent's.
"""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from typing import TYPE_CHECKING, Callable, List, Set, Tuple

if TYPE_CHECKING:
    from ._native import NativeSession

_lock = threading.RLock()  # a collection may run a finalizer in a thread that holds it
_open: Set[NativeSession] = set()
_closing: List[threading.Thread] = []
_after_fork: List[Callable[[], None]] = []


def add(session: NativeSession) -> None:
    with _lock:
        _open.add(session)


def discard(session: NativeSession) -> None:
    with _lock:
        _open.discard(session)


def on_fork(callback: Callable[[], None]) -> None:
    """Call it in a child process, after a fork."""
    _after_fork.append(callback)


def forgotten(session: NativeSession, what: str) -> None:
    """The finalizer of an object that owns a session."""
    if session.pid != os.getpid() or session.closed:
        return
    if not session.attached:
        _warn(session, what)
    thread = threading.Thread(target=session.discard, name="sandcell-close", daemon=True)
    with _lock:
        _closing[:] = [other for other in _closing if other.is_alive()]
        _closing.append(thread)
    try:
        thread.start()
    except RuntimeError:  # the interpreter is ending
        session.discard()


def _warn(session: NativeSession, what: str) -> None:
    warnings.warn(f"unclosed {what} {session.name!r}", ResourceWarning, source=session)


def _start_all(
    sessions: List[NativeSession],
) -> Tuple[List[threading.Thread], List[NativeSession]]:
    """Close each on a thread; those for which none can be started any more are left."""
    threads: List[threading.Thread] = []
    for index, session in enumerate(sessions):
        thread = threading.Thread(target=session.discard, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return threads, sessions[index:]
        threads.append(thread)
    return threads, []


@atexit.register
def close_all() -> None:
    with _lock:
        sessions = [session for session in _open if session.pid == os.getpid()]
        closing = [thread for thread in _closing if thread.ident is not None]
    for session in sessions:
        if not session.attached:
            _warn(session, "session")
    threads, left = _start_all(sessions)
    for session in left:
        session.discard()
    for thread in threads + closing:
        thread.join()


def _in_child() -> None:
    global _lock
    _lock = threading.RLock()
    _open.clear()
    _closing.clear()
    for callback in _after_fork:
        callback()


os.register_at_fork(after_in_child=_in_child)
