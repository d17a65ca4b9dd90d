"""What calls do beside running code: questions, files, snapshots, life with other clients.

Plain functions over a NativeSession; they block, and take a turn like any call.
"""

from __future__ import annotations

import json
from ctypes import byref, c_size_t, c_uint32, c_uint64, c_void_p, string_at
from dataclasses import replace
from typing import Any, Dict, Iterable, NamedTuple, Optional, Type, TypeVar, Union

from . import _ffi
from ._engine import take_text
from ._errors import InvalidArgumentError, take_error
from ._library import lib
from ._native import NativeSession, Ticket
from ._options import (
    PathLike,
    SessionOptions,
    Size,
    milliseconds,
    path,
    size,
    text,
    texts,
    thousandths,
)
from ._output import Forward
from ._result import ExecResult

Content = Union[bytes, bytearray, memoryview, str]

_Kind = TypeVar("_Kind", bound=ExecResult)

# ---- questions ----


def names(native: NativeSession) -> Any:
    return native.run_for_json(lib.sandcell_names)


def history(native: NativeSession) -> Any:
    return native.run_for_json(lib.sandcell_history)


def complete(native: NativeSession, code: str, cursor: Optional[int]) -> Any:
    data = code.encode()
    at = len(code) if cursor is None else cursor
    return native.run_for_json(
        lambda pointer, answer, error: lib.sandcell_complete(
            pointer, data, len(data), at, answer, error
        )
    )


def stat(native: NativeSession) -> Any:
    return native.run_for_json(lib.sandcell_session_stat)


# ---- files ----


def put(native: NativeSession, target: str, content: Content) -> None:
    data = content.encode() if isinstance(content, str) else bytes(content)
    name = text(target, "path")
    native.run(lambda pointer, error: lib.sandcell_put(pointer, name, data, len(data), error))


def get(native: NativeSession, source: str, limit: Optional[Size]) -> bytes:
    name, most = text(source, "path"), size(limit, "limit")
    data, length = c_void_p(), c_size_t()
    try:
        native.run(
            lambda pointer, error: lib.sandcell_get(
                pointer, name, most, byref(data), byref(length), error
            )
        )
        return string_at(data, length.value) if length.value else b""
    finally:
        lib.sandcell_string_free(data)


# ---- snapshots and checkpoints ----


class Checkpoint(NamedTuple):
    """A copy of the Python process; ``report`` names what a rollback won't bring back."""

    id: int
    report: Dict[str, Any]


_COMPRESSION = {"zstd": 0, "gzip": _ffi.SNAPSHOT_GZIP, None: _ffi.SNAPSHOT_PLAIN}


def snapshot(
    native: NativeSession,
    target: PathLike,
    exclude: Iterable[str],
    compression: Optional[str],
    timeout: Optional[float],
) -> Any:
    if compression not in _COMPRESSION:
        raise InvalidArgumentError("'compression' is \"zstd\", \"gzip\" or None")
    options = _ffi.SnapshotOptions(
        exclude=texts(exclude, "exclude"),
        timeout_ms=thousandths(timeout, "timeout"),
        flags=_COMPRESSION[compression],
    )
    name = path(target, "path")
    return native.run_for_json(
        lambda pointer, report, error: lib.sandcell_snapshot_save(
            pointer, name, byref(options), report, error
        )
    )


def restore(
    native: NativeSession, source: PathLike, force: bool, timeout: Optional[float]
) -> Any:
    options = _ffi.SnapshotOptions(
        timeout_ms=thousandths(timeout, "timeout"),
        flags=_ffi.SNAPSHOT_FORCE if force else 0,
    )
    name = path(source, "path")
    return native.run_for_json(
        lambda pointer, report, error: lib.sandcell_snapshot_restore(
            pointer, name, byref(options), report, error
        )
    )


def inspect_snapshot(source: PathLike) -> Dict[str, Any]:
    """Check a snapshot file and tell what is in it, without a session."""
    answer, error = c_void_p(), c_void_p()
    rc = lib.sandcell_snapshot_inspect(path(source, "path"), byref(answer), byref(error))
    if rc < 0:
        raise take_error(rc, error)
    return json.loads(take_text(answer))


def checkpoint(native: NativeSession) -> Checkpoint:
    number = c_uint64()
    report = native.run_for_json(
        lambda pointer, answer, error: lib.sandcell_checkpoint(
            pointer, byref(number), answer, error
        )
    )
    return Checkpoint(number.value, report)


def _id_of(point: Union[Checkpoint, int]) -> int:
    return point.id if isinstance(point, Checkpoint) else point


def rollback(native: NativeSession, point: Union[Checkpoint, int]) -> None:
    number = _id_of(point)
    native.run(lambda pointer, error: lib.sandcell_rollback(pointer, number, error))


def drop_checkpoint(native: NativeSession, point: Union[Checkpoint, int]) -> None:
    number = _id_of(point)
    native.run(lambda pointer, error: lib.sandcell_checkpoint_drop(pointer, number, error))


def fork_options(native: NativeSession, changes: Dict[str, Any]) -> SessionOptions:
    """How to open the session that gets a copy of this one's state."""
    if not isinstance(native.options, SessionOptions):
        raise InvalidArgumentError("only the process that opened a session can fork it")
    return replace(native.options, **{"name": None, **changes})


# ---- life with other clients ----


def set_lease(native: NativeSession, seconds: float) -> None:
    ms = thousandths(seconds, "seconds")
    native.run(lambda pointer, error: lib.sandcell_session_set_lease(pointer, ms, error))


def interrupt_all(native: NativeSession) -> int:
    count = c_uint32()
    native.run(
        lambda pointer, error: lib.sandcell_session_interrupt_all(
            pointer, byref(count), error
        )
    )
    return count.value


def execute_detached(
    native: NativeSession, data: bytes, options: _ffi.ExecuteOptions
) -> int:
    number = c_uint64()
    native.run(
        lambda pointer, error: lib.sandcell_execute_detached(
            pointer, data, len(data), byref(options), byref(number), error
        )
    )
    return number.value


def fetch_options(
    forward: Optional[Forward],
    timeout: Optional[float],
    wait: bool,
    output_max: Optional[Size],
) -> _ffi.ExecuteOptions:
    options = _ffi.ExecuteOptions(
        timeout_ms=milliseconds(timeout, "timeout"),
        output_max=size(output_max, "output_max"),
        flags=0 if wait else _ffi.EXECUTE_NO_WAIT,
    )
    if forward is not None:
        options.on_output = forward.callback
    return options


def fetch_result(
    native: NativeSession,
    number: int,
    options: _ffi.ExecuteOptions,
    kind: Type[_Kind],
    forward: Optional[Forward] = None,
    ticket: Optional[Ticket] = None,
) -> _Kind:
    return native.run_for_result(
        lambda pointer, result, error: lib.sandcell_fetch_result(
            pointer, number, byref(options), result, error
        ),
        None,
        kind,
        forward,
        ticket,
    )
