"""A session of the library: blocking calls, one at a time, from any thread.

Session and AsyncSession both stand on this.  A call holds the lock for as long as it
lasts; interrupt(), cancel() and the attributes never wait for it.
"""

from __future__ import annotations

import json
import os
import threading
from ctypes import byref, c_void_p
from typing import Any, Callable, Dict, List, Optional, Type, TypeVar, Union

from . import _cleanup, _ffi
from ._engine import Engine, take_text
from ._errors import ForkError, SandcellError, SessionClosedError, take_error
from ._library import lib
from ._options import AttachOptions, SessionOptions, text
from ._output import Forward
from ._result import ExecResult, read_result
from ._signals import Watch

_Kind = TypeVar("_Kind", bound=ExecResult)

# (the session's pointer, where an error goes) -> status
Step = Callable[[c_void_p, Any], int]


class Ticket:
    """One call that may be cancelled, before it begins or while it runs."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False


class CancelledCall(Exception):
    """The call was cancelled before it began."""


class NativeSession:
    """Owns the library's session, and keeps the engine under it alive."""

    def __init__(
        self, options: Union[SessionOptions, AttachOptions], name: Optional[str] = None
    ) -> None:
        self.pid = os.getpid()
        self.options = options
        self.name = name or ""
        self.container = ""
        self.warnings: List[str] = []
        self.engine: Optional[Engine] = None
        self._watch = Watch()
        self._pointer = c_void_p()
        self._lock = threading.Lock()
        self._caller = 0  # the thread that holds the lock
        # Guards what other threads do to a call or a pointer that is about to end.
        self._life = threading.RLock()
        self._ticket: Optional[Ticket] = None
        self._closing = False

    # ---- life ----

    @property
    def closed(self) -> bool:
        return not self._pointer

    @property
    def attached(self) -> bool:
        """Another one opened it: it is left alone when it is not closed."""
        return isinstance(self.options, AttachOptions)

    @property
    def logs(self) -> bool:
        """Whether calls may call back a Python function for the engine's log."""
        return self.engine is not None and self.engine.logs

    def _read_container(self) -> None:
        """Another one after a restart."""
        self.container = lib.sandcell_session_get_container(self._pointer).decode()

    def open(self, engine: Engine) -> None:
        options = self.options.to_native()
        options.on_wait = self._watch.callback
        self.engine = engine
        error = c_void_p()
        with self._lock:
            if self._closing:
                raise SessionClosedError("the session was closed before it was open")
            rc = self._open(engine, options, error)
            if self._pointer:
                _cleanup.add(self)
                self.name = lib.sandcell_session_get_name(self._pointer).decode()
                self._read_container()
                self.warnings = self._read_json().get("warnings", [])
        if self._closing:
            self.discard()
            lib.sandcell_error_free(error)
            raise SessionClosedError("the session was closed while it was opened")
        self._check(rc, error, None)

    def _open(self, engine: Engine, options: Any, error: c_void_p) -> int:
        pointers = byref(options), byref(self._pointer), byref(error)
        if self.attached:
            name = text(self.name, "name")
            return lib.sandcell_session_attach(engine.pointer, name, *pointers)
        return lib.sandcell_session_open(engine.pointer, *pointers)

    def give_up(self) -> None:
        """Stop what runs, an opening included, and let nothing else begin."""
        self._closing = True
        self._watch.state.stop = True
        self.interrupt()

    def close(self) -> None:
        """Stop what runs and remove the container.  Calling it twice is fine."""
        if self.pid == os.getpid():
            self._check_caller()
            self.give_up()
            self._end_with(lib.sandcell_session_close)

    def detach(self) -> None:
        """Leave the container running, for as long as its lease lasts."""
        self._check_caller()
        self._end_with(lib.sandcell_session_detach)

    def _end_with(self, function: Any) -> None:
        with self._lock:
            if self.closed:
                return
            self._watch.state.stop = False
            error = c_void_p()
            rc = function(self._pointer, byref(error))
            if rc < 0:
                raise take_error(rc, error)
            self._free()

    def discard(self) -> None:
        """Close as well as possible, without a word, and release the memory."""
        if self.pid != os.getpid():
            return
        try:
            self.detach() if self.attached else self.close()
        except SandcellError:
            pass  # its lease ends the container
        with self._lock:
            self._free()

    def _free(self) -> None:
        with self._life:
            _cleanup.discard(self)
            lib.sandcell_session_free(self._pointer)
            self._pointer.value = None
            self.engine = None

    # ---- calls ----

    def run(
        self,
        step: Step,
        forward: Optional[Forward] = None,
        ticket: Optional[Ticket] = None,
    ) -> int:
        """Take a turn, and raise what went wrong: the library's error, or what a signal
        handler or a callback raised meanwhile."""
        self._check_caller()
        error = c_void_p()
        with self._lock:
            self._begin(ticket)
            try:
                rc = step(self._pointer, byref(error))
                self._check(rc, error, forward)
                return rc
            finally:
                self._end()

    def run_for_result(
        self,
        step: Callable[[c_void_p, Any, Any], int],
        code: Optional[str],
        kind: Type[_Kind],
        forward: Optional[Forward] = None,
        ticket: Optional[Ticket] = None,
    ) -> _Kind:
        """The same for a step that hands out a result."""
        result = c_void_p()
        try:
            self.run(
                lambda pointer, error: step(pointer, byref(result), error), forward, ticket
            )
            found = read_result(result, code, kind)
            if found.container_restarted:
                with self._lock:
                    if self._pointer:
                        self._read_container()
            return found
        finally:
            lib.sandcell_result_free(result)

    def run_for_json(self, step: Callable[[c_void_p, Any, Any], int]) -> Any:
        """The same for a step that hands out a JSON text."""
        answer = c_void_p()
        try:
            self.run(lambda pointer, error: step(pointer, byref(answer), error))
        finally:
            told = take_text(answer)
        return json.loads(told) if told else None

    def execute(
        self,
        data: bytes,
        options: Optional[_ffi.ExecuteOptions],
        kind: Type[_Kind],
        forward: Optional[Forward] = None,
        ticket: Optional[Ticket] = None,
    ) -> _Kind:
        def step(pointer: c_void_p, result: Any, error: Any) -> int:
            return lib.sandcell_execute(pointer, data, len(data), options, result, error)

        code = data.decode("utf-8", "replace")
        return self.run_for_result(step, code, kind, forward, ticket)

    def execute_cli(
        self,
        command: str,
        options: Optional[_ffi.CliOptions],
        kind: Type[_Kind],
        forward: Optional[Forward] = None,
        ticket: Optional[Ticket] = None,
    ) -> _Kind:
        data = text(command, "command")

        def step(pointer: c_void_p, result: Any, error: Any) -> int:
            return lib.sandcell_execute_cli(pointer, data, options, result, error)

        return self.run_for_result(step, command, kind, forward, ticket)

    def reset(self) -> None:
        self.run(lib.sandcell_reset)

    def describe(self) -> Dict[str, Any]:
        self._check_caller()
        with self._lock:
            self._check_open()
            return self._read_json()

    def _read_json(self) -> Dict[str, Any]:
        return json.loads(lib.sandcell_session_get_json(self._pointer) or b"{}")

    def interrupt(self) -> None:
        if self.pid != os.getpid():
            return
        with self._life:
            if self._pointer:
                lib.sandcell_interrupt(self._pointer)

    def cancel(self, ticket: Ticket) -> None:
        """Stop that call and no other, whether it waits, runs or is over."""
        with self._life:
            ticket.cancelled = True
            if self._ticket is ticket:
                self._watch.state.stop = True
                self.interrupt()

    # ---- around a call ----

    def _check_caller(self) -> None:
        if self.pid != os.getpid():
            raise ForkError("this session was opened before a fork, by another process")
        if self._caller == threading.get_ident() and self._lock.locked():
            raise SandcellError("a callback can't call the session that called it")

    def _check_open(self) -> None:
        if self.closed or self._closing:
            raise SessionClosedError(f"session {self.name!r} is closed")

    def _begin(self, ticket: Optional[Ticket]) -> None:
        self._check_open()
        self._caller = threading.get_ident()
        if ticket is None:
            return
        with self._life:
            if ticket.cancelled:
                raise CancelledCall
            self._ticket = ticket

    def _end(self) -> None:
        self._caller = 0
        if self._ticket is not None:
            with self._life:
                self._ticket = None
                self._watch.state.stop = self._closing

    def _check(self, rc: int, error: c_void_p, forward: Optional[Forward]) -> None:
        raised = self._watch.take_raised()
        if raised is None and forward is not None:
            raised = forward.raised
        if raised is not None:
            lib.sandcell_error_free(error)
            raise raised
        if rc < 0:
            raise take_error(rc, error)
