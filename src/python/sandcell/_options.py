"""How a session is started, in Python's terms and in the library's."""

from __future__ import annotations

import ctypes
import math
import os
import re
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Optional, Sequence, TypedDict, Union

from . import _ffi
from ._errors import InvalidArgumentError

PathLike = Union[str, "os.PathLike[str]"]
Size = Union[int, str]

_SIZE = re.compile(r"(\d+)\s*([kmgt]?)(?:i?b)?$", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_MAX_U32 = 0xFFFFFFFE  # the largest value means "none"
_MAX_U64 = 0xFFFFFFFFFFFFFFFF


class SessionKeywords(TypedDict, total=False):
    """SessionOptions' fields but the image, as keywords of Session and its like."""

    workspace: Optional[PathLike]
    workspace_read_only: bool
    mounts: Sequence[str]
    env: Optional[Mapping[str, str]]
    user: Optional[str]
    network: Optional[str]
    runtime: Optional[str]
    preload: Sequence[str]
    name: Optional[str]
    memory: Optional[Size]
    tmp: Optional[Size]
    cpus: Optional[float]
    pids: Optional[int]
    fsize: Optional[Size]
    nofile: Optional[int]
    output_max: Optional[Size]
    timeout: Optional[float]
    lease: Optional[float]
    max_life: Optional[float]
    idle: Optional[float]
    open_timeout: Optional[float]
    strict_limits: bool


@dataclass(frozen=True)
class SessionOptions:
    """How to start a session; everything has a default.

    Sizes are bytes, or text such as ``"512m"`` and ``"2g"``; times are seconds.

    ``image``: default ``$SANDCELL_IMAGE``, else ``sandcell/python``.
    ``workspace``: host directory, seen as ``/workspace``; default: an empty one in memory.
    ``workspace_read_only``: the code may only read it.
    ``mounts``: ``"SRC:DST"`` or ``"SRC:DST:ro"``.
    ``env``: environment variables of the code.
    ``user``: ``"UID:GID"`` of the code; default: the workspace's owner.
    ``network``: an engine network; default: none at all.
    ``runtime``: OCI runtime by the engine's name, such as ``"runsc"``.
    ``preload``: modules imported once, and there at once after every reset.
    ``name``: session name, under which other processes find it.
    ``memory``: 2 GiB; swap is never added.  ``tmp``: of ``/tmp``; an eighth of the memory.
    ``cpus``: all of the host.  ``pids``: 256.
    ``fsize``: largest file that the code may write; any.  ``nofile``: open files of each
    of its processes; 4096.
    ``output_max``: bytes kept per stream and call; 1 MiB.
    ``timeout``: default for each call, 600; ``math.inf``: none.
    ``lease``: life without a client; 10, with a name 1800.  ``max_life``: at all, and
    ``idle``: without a call; no limit.  ``open_timeout``: 60.
    ``strict_limits``: a limit that the engine dropped is an error, not a warning.
    """

    image: Optional[str] = None
    workspace: Optional[PathLike] = None
    workspace_read_only: bool = False
    mounts: Sequence[str] = ()
    env: Optional[Mapping[str, str]] = None
    user: Optional[str] = None
    network: Optional[str] = None
    runtime: Optional[str] = None
    preload: Sequence[str] = ()
    name: Optional[str] = None
    memory: Optional[Size] = None
    tmp: Optional[Size] = None
    cpus: Optional[float] = None
    pids: Optional[int] = None
    fsize: Optional[Size] = None
    nofile: Optional[int] = None
    output_max: Optional[Size] = None
    timeout: Optional[float] = None
    lease: Optional[float] = None
    max_life: Optional[float] = None
    idle: Optional[float] = None
    open_timeout: Optional[float] = None
    strict_limits: bool = False

    def to_native(self) -> _ffi.SessionOptions:
        """The library's struct; it keeps alive what it points to."""
        flags = 0
        if self.workspace_read_only:
            flags |= _ffi.SESSION_WORKSPACE_RO
        if self.strict_limits:
            flags |= _ffi.SESSION_STRICT_LIMITS
        if isinstance(self.preload, str) or isinstance(self.mounts, str):
            raise InvalidArgumentError("'preload' and 'mounts' are lists of texts")
        env = [f"{key}={value}" for key, value in (self.env or {}).items()]
        return _ffi.SessionOptions(
            image=text(self.image, "image"),
            workspace=path(self.workspace, "workspace"),
            mounts=texts(self.mounts, "mounts"),
            env=texts(env, "env"),
            user=text(self.user, "user"),
            network=text(self.network, "network"),
            runtime=text(self.runtime, "runtime"),
            preload=text(",".join(self.preload) or None, "preload"),
            name=text(self.name, "name"),
            memory_bytes=size(self.memory, "memory"),
            tmp_bytes=size(self.tmp, "tmp"),
            output_max=size(self.output_max, "output_max"),
            cpu_millis=thousandths(self.cpus, "cpus"),
            pids_max=count(self.pids, "pids"),
            timeout_ms=milliseconds(self.timeout, "timeout"),
            lease_ms=milliseconds(self.lease, "lease"),
            open_timeout_ms=milliseconds(self.open_timeout, "open_timeout"),
            fsize_bytes=size(self.fsize, "fsize"),
            nofile_max=count(self.nofile, "nofile"),
            max_life_ms=thousandths(self.max_life, "max_life"),
            idle_ms=thousandths(self.idle, "idle"),
            flags=flags,
        )


class AttachKeywords(TypedDict, total=False):
    """AttachOptions' fields, as keywords of Session.attach()."""

    timeout: Optional[float]
    output_max: Optional[Size]
    lease: Optional[float]
    attach_timeout: Optional[float]
    observe: bool


@dataclass(frozen=True)
class AttachOptions:
    """How to use a session that is open already; times are seconds.

    ``timeout``: default for each call, 600.  ``output_max``: bytes kept per stream; 1 MiB.
    ``lease``: the session's from now on.  ``attach_timeout``: 30.
    ``observe``: only look on; its lease and idle time go on as if nobody were there.
    """

    timeout: Optional[float] = None
    output_max: Optional[Size] = None
    lease: Optional[float] = None
    attach_timeout: Optional[float] = None
    observe: bool = False

    def to_native(self) -> _ffi.AttachOptions:
        return _ffi.AttachOptions(
            timeout_ms=milliseconds(self.timeout, "timeout"),
            output_max=size(self.output_max, "output_max"),
            lease_ms=thousandths(self.lease, "lease"),
            attach_timeout_ms=milliseconds(self.attach_timeout, "attach_timeout"),
            flags=_ffi.ATTACH_OBSERVE if self.observe else 0,
        )


# ---- values: None is the default, and 0 means that to the library ----


def text(value: Optional[str], name: str) -> Optional[bytes]:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidArgumentError(f"'{name}' must be text, not {type(value).__name__}")
    if "\0" in value:
        raise InvalidArgumentError(f"'{name}' holds a NUL character")
    return os.fsencode(value)


def path(value: Optional[PathLike], name: str) -> Optional[bytes]:
    if value is None:
        return None
    return text(os.path.abspath(os.fspath(value)), name)


def texts(values: Iterable[str], name: str) -> Any:
    """A NULL-terminated array, or NULL for an empty one."""
    encoded = [text(value, name) for value in values]
    if not encoded:
        return None
    array = (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)
    return ctypes.cast(array, _ffi.TEXTS)  # the pointer keeps the array alive


def _positive(value: float, name: str, limit: int) -> int:
    if isinstance(value, bool) or not value > 0:
        raise InvalidArgumentError(f"'{name}' must be greater than 0, not {value!r}")
    if value > limit:
        raise InvalidArgumentError(f"'{name}' is too large: {value!r}")
    return int(value)


def count(value: Optional[int], name: str) -> int:
    return 0 if value is None else _positive(value, name, _MAX_U32)


def size(value: Optional[Size], name: str) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        match = _SIZE.match(value.strip())
        if not match:
            raise InvalidArgumentError(f"'{name}' is no size: {value!r}; write 512m or 2g")
        value = int(match.group(1)) << _UNITS[match.group(2).lower()]
    return _positive(value, name, _MAX_U64)


def thousandths(value: Optional[float], name: str) -> int:
    """Milliseconds of seconds, or milli-CPUs of CPUs; never rounded to nothing."""
    if value is None:
        return 0
    _positive(value, name, _MAX_U32 // 1000)
    return math.ceil(value * 1000)


def milliseconds(value: Optional[float], name: str) -> int:
    return _ffi.NO_TIMEOUT if value == math.inf else thousandths(value, name)
