"""Engines: found once, shared by sessions and threads."""

from __future__ import annotations

import json
import os
import threading
import weakref
from ctypes import byref, c_void_p, string_at
from typing import Any, Callable, Dict, Optional, Tuple, Union

from . import _cleanup, _ffi
from ._errors import ForkError, take_error
from ._library import lib
from ._options import milliseconds, text
from ._workers import run_aside

_ENVIRONMENT = ("SANDCELL_HOST", "DOCKER_HOST", "CONTAINER_HOST", "DOCKER_CONTEXT")


class Engine:
    """A Docker or Podman engine.

    ``host`` is like ``DOCKER_HOST``; without it the usual places are searched.  ``on_log``
    gets each line of the conversation with it, on whichever thread does the work.
    """

    def __init__(
        self,
        host: Optional[str] = None,
        *,
        connect_timeout: Optional[float] = None,
        request_timeout: Optional[float] = None,
        on_log: Optional[Callable[[str], Any]] = None,
    ) -> None:
        options = _ffi.EngineOptions(
            host=text(host, "host"),
            connect_timeout_ms=milliseconds(connect_timeout, "connect_timeout"),
            request_timeout_ms=milliseconds(request_timeout, "request_timeout"),
        )
        self._log = None if on_log is None else _log_callback(on_log)
        if self._log is not None:
            options.on_log = self._log
        self._pid = os.getpid()
        self._pointer = c_void_p()
        # The finalizer owns the pointer: it is registered before the library fills it in,
        # so that an exception from a signal handler can't come in between.
        # At exit it stays: sessions need it to close.
        weakref.finalize(self, _free, self._pointer, self._pid, self._log).atexit = False
        run_aside(lambda: self._open(options))

    def _open(self, options: _ffi.EngineOptions) -> None:
        error = c_void_p()
        rc = lib.sandcell_engine_open(byref(options), byref(self._pointer), byref(error))
        if rc < 0:
            raise take_error(rc, error)

    @property
    def logs(self) -> bool:
        """Whether it has a Python function to log to."""
        return self._log is not None

    @property
    def pointer(self) -> c_void_p:
        if self._pid != os.getpid():
            raise ForkError("this engine was opened before a fork, by another process")
        return self._pointer

    @property
    def host(self) -> str:
        """The address in use, such as ``unix:///var/run/docker.sock``."""
        return _decode(lib.sandcell_engine_get_host(self.pointer))

    @property
    def source(self) -> str:
        """Where that address came from, such as ``DOCKER_HOST``."""
        return _decode(lib.sandcell_engine_get_source(self.pointer))

    @property
    def kind(self) -> str:
        """``"docker"`` or ``"podman"``."""
        return _decode(lib.sandcell_engine_get_kind(self.pointer))

    @property
    def api_version(self) -> str:
        """The API version spoken, such as ``1.41``."""
        return _decode(lib.sandcell_engine_get_api_version(self.pointer))

    def describe(self) -> Dict[str, Any]:
        """Ask the engine about itself."""
        return json.loads(run_aside(self._describe))

    def _describe(self) -> str:
        answer, error = c_void_p(), c_void_p()
        rc = lib.sandcell_engine_describe(self.pointer, byref(answer), byref(error))
        if rc < 0:
            raise take_error(rc, error)
        return take_text(answer)

    def __repr__(self) -> str:
        return f"<sandcell.Engine {self.kind} at {self.host}>"


def _decode(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


def take_text(pointer: c_void_p) -> str:
    """Copy and free a text that the library handed out."""
    try:
        return string_at(pointer).decode("utf-8", "replace") if pointer else ""
    finally:
        lib.sandcell_string_free(pointer)
        pointer.value = None


def _log_callback(on_log: Callable[[str], Any]) -> Any:
    def forward(line: Optional[bytes], _user: Any) -> None:
        on_log(_decode(line))

    return _ffi.LOG_FN(forward)


def _free(pointer: c_void_p, pid: int, _log: Any) -> None:
    if pointer and pid == os.getpid():
        lib.sandcell_engine_free(pointer)
    pointer.value = None


# ---- the default engine ----

_lock = threading.Lock()
_defaults: Dict[Tuple[Optional[str], ...], Engine] = {}


def get_engine(engine: Union[Engine, str, None]) -> Engine:
    """The engine meant: itself, at an address, or the one that a search finds.

    One that was found is used again for as long as the environment names the same.
    """
    if isinstance(engine, Engine):
        return engine
    key = (engine, *map(os.environ.get, _ENVIRONMENT))
    with _lock:
        found = _defaults.get(key)
        if found is None:
            found = _defaults[key] = Engine(engine)
        return found


def _in_child() -> None:
    global _lock
    _lock = threading.Lock()
    _defaults.clear()


_cleanup.on_fork(_in_child)
