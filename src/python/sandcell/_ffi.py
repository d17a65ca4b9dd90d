"""The C interface as ctypes sees it: values, structures, prototypes; nothing else.

Copied by hand from include/sandcell; tests/python compares every size, offset, value and
name with what a C compiler says.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

# enum sandcell_status
OK = 0
E_FAIL = -1
E_NOMEM = -2
E_INVAL = -3
E_CONNECT = -4
E_ENGINE = -5
E_PROTOCOL = -6
E_NOTFOUND = -7
E_CONFLICT = -8
E_TIMEOUT = -9
E_CALLBACK = -10
E_LIMIT = -11
E_GONE = -12
E_CLOSED = -13
E_BUSY = -14
E_DATA = -15

# enum sandcell_result_status
RESULT_OK = 0
RESULT_ERROR = 1
RESULT_TIMEOUT = 2
RESULT_INTERRUPTED = 3
RESULT_OOM = 4
RESULT_EXITED = 5
RESULT_SIGNALED = 6
RESULT_DENIED = 7
RESULT_LOST = 8

# enum sandcell_stream
STDOUT = 1
STDERR = 2
LATE_STDOUT = 3
LATE_STDERR = 4

# enum sandcell_output_kind
OUTPUT_NONE = 0
OUTPUT_JSON = 1
OUTPUT_REPR = 2

NO_TIMEOUT = 0xFFFFFFFF

SESSION_WORKSPACE_RO = 1 << 0
SESSION_STRICT_LIMITS = 1 << 1
EXECUTE_PROGRAM = 1 << 0
EXECUTE_ARTIFACTS = 1 << 1
EXECUTE_NO_WAIT = 1 << 2
EXECUTE_RECOVER = 1 << 3
CLI_QUOTED_OPERATORS = 1 << 0
SNAPSHOT_GZIP = 1 << 0
SNAPSHOT_PLAIN = 1 << 1
SNAPSHOT_FORCE = 1 << 2
ATTACH_OBSERVE = 1 << 0
REAP_DRY_RUN = 1 << 0

LOG_FN = CFUNCTYPE(None, c_char_p, c_void_p)
OUTPUT_FN = CFUNCTYPE(c_int, c_int, c_void_p, c_size_t, c_void_p)
WAIT_FN = CFUNCTYPE(c_int, c_void_p)

TEXTS = POINTER(c_char_p)  # const char *const *


class _Options(Structure):
    """An options struct: all zero but its size."""

    def __init__(self, **values: Any) -> None:
        super().__init__(struct_size=ctypes.sizeof(type(self)), **values)


class EngineOptions(_Options):
    _fields_ = [
        ("struct_size", c_size_t),
        ("host", c_char_p),
        ("on_log", LOG_FN),
        ("log_user", c_void_p),
        ("connect_timeout_ms", c_uint32),
        ("request_timeout_ms", c_uint32),
    ]


class SessionOptions(_Options):
    _fields_ = [
        ("struct_size", c_size_t),
        ("image", c_char_p),
        ("workspace", c_char_p),
        ("mounts", TEXTS),
        ("env", TEXTS),
        ("user", c_char_p),
        ("network", c_char_p),
        ("runtime", c_char_p),
        ("preload", c_char_p),
        ("name", c_char_p),
        ("on_wait", WAIT_FN),
        ("wait_user", c_void_p),
        ("memory_bytes", c_uint64),
        ("tmp_bytes", c_uint64),
        ("output_max", c_uint64),
        ("cpu_millis", c_uint32),
        ("pids_max", c_uint32),
        ("timeout_ms", c_uint32),
        ("lease_ms", c_uint32),
        ("open_timeout_ms", c_uint32),
        ("flags", c_uint32),
        ("fsize_bytes", c_uint64),
        ("nofile_max", c_uint64),
        ("max_life_ms", c_uint32),
        ("idle_ms", c_uint32),
    ]


class AttachOptions(_Options):
    _fields_ = [
        ("struct_size", c_size_t),
        ("on_wait", WAIT_FN),
        ("wait_user", c_void_p),
        ("output_max", c_uint64),
        ("timeout_ms", c_uint32),
        ("attach_timeout_ms", c_uint32),
        ("lease_ms", c_uint32),
        ("flags", c_uint32),
    ]


class ExecuteOptions(_Options):
    _fields_ = [
        ("struct_size", c_size_t),
        ("on_output", OUTPUT_FN),
        ("output_user", c_void_p),
        ("stdin_data", c_char_p),
        ("stdin_len", c_size_t),
        ("script", c_char_p),
        ("args", TEXTS),
        ("output_max", c_uint64),
        ("timeout_ms", c_uint32),
        ("flags", c_uint32),
        ("stdout_file", c_char_p),
        ("stderr_file", c_char_p),
    ]


class CliOptions(_Options):
    _fields_ = [
        ("struct_size", c_size_t),
        ("on_output", OUTPUT_FN),
        ("output_user", c_void_p),
        ("output_max", c_uint64),
        ("timeout_ms", c_uint32),
        ("flags", c_uint32),
    ]


class SnapshotOptions(_Options):
    _fields_ = [
        ("struct_size", c_size_t),
        ("exclude", TEXTS),
        ("timeout_ms", c_uint32),
        ("flags", c_uint32),
    ]


STRUCTS = {
    "sandcell_engine_options": EngineOptions,
    "sandcell_session_options": SessionOptions,
    "sandcell_attach_options": AttachOptions,
    "sandcell_execute_options": ExecuteOptions,
    "sandcell_cli_options": CliOptions,
    "sandcell_snapshot_options": SnapshotOptions,
}

_OUT = POINTER(c_void_p)  # an object that the library hands over
_TEXT_OUT = POINTER(c_void_p)  # char **: an address, so that it can be freed
_LEN_OUT = POINTER(c_size_t)

# Functions that wait for the engine or the container: the GIL is given up meanwhile.
WAITING = {
    "sandcell_engine_open": (c_int, [POINTER(EngineOptions), _OUT, _OUT]),
    "sandcell_engine_describe": (c_int, [c_void_p, _TEXT_OUT, _OUT]),
    "sandcell_session_open": (c_int, [c_void_p, POINTER(SessionOptions), _OUT, _OUT]),
    "sandcell_session_attach": (
        c_int,
        [c_void_p, c_char_p, POINTER(AttachOptions), _OUT, _OUT],
    ),
    "sandcell_list": (c_int, [c_void_p, _TEXT_OUT, _OUT]),
    "sandcell_reap": (c_int, [c_void_p, c_uint32, _TEXT_OUT, _OUT]),
    "sandcell_session_detach": (c_int, [c_void_p, _OUT]),
    "sandcell_session_set_lease": (c_int, [c_void_p, c_uint32, _OUT]),
    "sandcell_session_stat": (c_int, [c_void_p, _TEXT_OUT, _OUT]),
    "sandcell_session_interrupt_all": (c_int, [c_void_p, POINTER(c_uint32), _OUT]),
    "sandcell_execute_detached": (
        c_int,
        [c_void_p, c_char_p, c_size_t, POINTER(ExecuteOptions), POINTER(c_uint64), _OUT],
    ),
    "sandcell_fetch_result": (
        c_int,
        [c_void_p, c_uint64, POINTER(ExecuteOptions), _OUT, _OUT],
    ),
    "sandcell_reset": (c_int, [c_void_p, _OUT]),
    "sandcell_session_close": (c_int, [c_void_p, _OUT]),
    "sandcell_execute": (
        c_int,
        [c_void_p, c_char_p, c_size_t, POINTER(ExecuteOptions), _OUT, _OUT],
    ),
    "sandcell_execute_cli": (c_int, [c_void_p, c_char_p, POINTER(CliOptions), _OUT, _OUT]),
    "sandcell_names": (c_int, [c_void_p, _TEXT_OUT, _OUT]),
    "sandcell_history": (c_int, [c_void_p, _TEXT_OUT, _OUT]),
    "sandcell_complete": (
        c_int,
        [c_void_p, c_char_p, c_size_t, c_size_t, _TEXT_OUT, _OUT],
    ),
    "sandcell_put": (c_int, [c_void_p, c_char_p, c_char_p, c_size_t, _OUT]),
    "sandcell_get": (
        c_int,
        [c_void_p, c_char_p, c_uint64, _TEXT_OUT, _LEN_OUT, _OUT],
    ),
    "sandcell_snapshot_save": (
        c_int,
        [c_void_p, c_char_p, POINTER(SnapshotOptions), _TEXT_OUT, _OUT],
    ),
    "sandcell_snapshot_restore": (
        c_int,
        [c_void_p, c_char_p, POINTER(SnapshotOptions), _TEXT_OUT, _OUT],
    ),
    "sandcell_snapshot_inspect": (c_int, [c_char_p, _TEXT_OUT, _OUT]),
    "sandcell_checkpoint": (c_int, [c_void_p, POINTER(c_uint64), _TEXT_OUT, _OUT]),
    "sandcell_rollback": (c_int, [c_void_p, c_uint64, _OUT]),
    "sandcell_checkpoint_drop": (c_int, [c_void_p, c_uint64, _OUT]),
}

# Functions that only look something up: giving up the GIL would cost more than they do.
QUICK = {
    "sandcell_version": (c_uint32, []),
    "sandcell_version_text": (c_char_p, []),
    "sandcell_has_feature": (c_int, [c_char_p]),
    "sandcell_error_get_code": (c_int, [c_void_p]),
    "sandcell_error_get_message": (c_char_p, [c_void_p]),
    "sandcell_error_get_http": (c_int, [c_void_p]),
    "sandcell_error_get_errno": (c_int, [c_void_p]),
    "sandcell_error_free": (None, [c_void_p]),
    "sandcell_status_name": (c_char_p, [c_int]),
    "sandcell_string_free": (None, [c_void_p]),
    "sandcell_engine_options_init": (None, [POINTER(EngineOptions), c_size_t]),
    "sandcell_engine_get_host": (c_char_p, [c_void_p]),
    "sandcell_engine_get_source": (c_char_p, [c_void_p]),
    "sandcell_engine_get_kind": (c_char_p, [c_void_p]),
    "sandcell_engine_get_api_version": (c_char_p, [c_void_p]),
    "sandcell_engine_free": (None, [c_void_p]),
    "sandcell_session_options_init": (None, [POINTER(SessionOptions), c_size_t]),
    "sandcell_session_get_container": (c_char_p, [c_void_p]),
    "sandcell_session_get_name": (c_char_p, [c_void_p]),
    "sandcell_session_get_json": (c_char_p, [c_void_p]),
    "sandcell_interrupt": (None, [c_void_p]),
    "sandcell_session_free": (None, [c_void_p]),
    "sandcell_attach_options_init": (None, [POINTER(AttachOptions), c_size_t]),
    "sandcell_execute_options_init": (None, [POINTER(ExecuteOptions), c_size_t]),
    "sandcell_cli_options_init": (None, [POINTER(CliOptions), c_size_t]),
    "sandcell_snapshot_options_init": (None, [POINTER(SnapshotOptions), c_size_t]),
    "sandcell_validate_cli_command": (c_int, [c_char_p, c_uint32, _TEXT_OUT]),
    "sandcell_result_get_status": (c_int, [c_void_p]),
    "sandcell_result_status_name": (c_char_p, [c_int]),
    "sandcell_result_get_success": (c_int, [c_void_p]),
    "sandcell_result_get_exit_code": (c_int, [c_void_p]),
    "sandcell_result_get_signal": (c_int, [c_void_p]),
    "sandcell_result_get_state_preserved": (c_int, [c_void_p]),
    "sandcell_result_get_container_restarted": (c_int, [c_void_p]),
    "sandcell_result_get_error": (c_char_p, [c_void_p]),
    "sandcell_result_get_code": (c_void_p, [c_void_p, _LEN_OUT]),
    "sandcell_result_get_stream": (c_void_p, [c_void_p, c_int, _LEN_OUT]),
    "sandcell_result_get_dropped": (c_uint64, [c_void_p, c_int]),
    "sandcell_result_get_output": (c_char_p, [c_void_p, POINTER(c_int)]),
    "sandcell_result_get_duration_ns": (c_uint64, [c_void_p]),
    "sandcell_result_get_display_count": (c_size_t, [c_void_p]),
    "sandcell_result_get_mime_count": (c_size_t, [c_void_p, c_size_t]),
    "sandcell_result_get_mime": (
        c_void_p,
        [c_void_p, c_size_t, c_size_t, POINTER(c_char_p), _LEN_OUT],
    ),
    "sandcell_result_get_json": (c_char_p, [c_void_p]),
    "sandcell_result_get_details": (c_char_p, [c_void_p]),
    "sandcell_result_free": (None, [c_void_p]),
}
