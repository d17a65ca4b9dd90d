"""Exceptions: one class per status code of the library."""

from __future__ import annotations

import ctypes
from typing import Dict, Optional, Type

from . import _ffi
from ._library import lib


class SandcellError(Exception):
    """A call that never began; how a call ended is told by its result.

    ``code`` is the library's status, ``http_status`` the engine's (0: none), ``errno`` of
    the system call behind it (0: none), ``hint`` what to do next.
    """

    code: int = _ffi.E_FAIL
    http_status: int = 0
    errno: int = 0
    hint: Optional[str] = None


class SandcellWarning(UserWarning):
    """A session that was opened, but not quite as asked for; see ``describe()``."""


class OutOfMemoryError(SandcellError, MemoryError):
    """The host is out of memory."""

    code = _ffi.E_NOMEM


class InvalidArgumentError(SandcellError, ValueError):
    """An argument or option that the library refuses."""

    code = _ffi.E_INVAL


class EngineUnreachableError(SandcellError, ConnectionError):
    """No engine answered."""

    code = _ffi.E_CONNECT
    hint = (
        "start Docker or Podman, or point SANDCELL_HOST at its socket; "
        "'sandcell doctor' shows what was tried"
    )


class EngineError(SandcellError):
    """The engine refused; ``http_status`` says how."""

    code = _ffi.E_ENGINE


class ProtocolError(SandcellError):
    """An answer of the engine or of the container did not parse."""

    code = _ffi.E_PROTOCOL


class NotFoundError(SandcellError, LookupError):
    """No such image, container or session."""

    code = _ffi.E_NOTFOUND


class ConflictError(SandcellError):
    """The name is taken, or the state does not allow it."""

    code = _ffi.E_CONFLICT


class DeadlineError(SandcellError, TimeoutError):
    """The library's own work took too long; a call that did is a result."""

    code = _ffi.E_TIMEOUT


class CallbackError(SandcellError):
    """A callback asked to stop."""

    code = _ffi.E_CALLBACK


class LimitError(SandcellError):
    """A limit on size, count or memory was hit."""

    code = _ffi.E_LIMIT


class SessionGoneError(SandcellError):
    """The container went away under the session."""

    code = _ffi.E_GONE


class SessionClosedError(SandcellError):
    """The session was closed before."""

    code = _ffi.E_CLOSED


class BusyError(SandcellError):
    """Another call is running."""

    code = _ffi.E_BUSY


class DataError(SandcellError, ValueError):
    """An archive or snapshot is malformed, cut or unsafe."""

    code = _ffi.E_DATA


class ForkError(SandcellError):
    """The object belongs to the process that this one was forked from."""

    code = _ffi.E_INVAL
    hint = "open a new one after the fork"


_BY_CODE: Dict[int, Type[SandcellError]] = {
    kind.code: kind
    for kind in (
        SandcellError,
        OutOfMemoryError,
        InvalidArgumentError,
        EngineUnreachableError,
        EngineError,
        ProtocolError,
        NotFoundError,
        ConflictError,
        DeadlineError,
        CallbackError,
        LimitError,
        SessionGoneError,
        SessionClosedError,
        BusyError,
        DataError,
    )
}


def take_error(rc: int, error: ctypes.c_void_p) -> SandcellError:
    """Turn a failed call's error into an exception and free it."""
    if not error:
        name = lib.sandcell_status_name(rc).decode()
        return _BY_CODE.get(rc, SandcellError)(name)
    try:
        code = lib.sandcell_error_get_code(error)
        message = lib.sandcell_error_get_message(error).decode("utf-8", "replace")
        raised = _BY_CODE.get(code, SandcellError)(message)
        raised.code = code
        raised.http_status = lib.sandcell_error_get_http(error)
        raised.errno = lib.sandcell_error_get_errno(error)
        return raised
    finally:
        lib.sandcell_error_free(error)
        error.value = None
