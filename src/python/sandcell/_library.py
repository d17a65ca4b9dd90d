"""Finds libsandcell, checks its version, and binds its functions."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, List

from . import _ffi
from ._version import __version__

SONAME = "libsandcell.so.0"


def check_version(found: int, path: str) -> None:
    """Refuse a library of another minor version: before 1.0 those may differ in the ABI."""
    major, minor, patch = found >> 16, found >> 8 & 0xFF, found & 0xFF
    wanted = __version__.split(".")[:2]
    if [str(major), str(minor)] == wanted:
        return
    raise ImportError(
        f"sandcell {__version__} needs libsandcell {'.'.join(wanted)}, but {path} is "
        f"{major}.{minor}.{patch}: install both from one release, or set SANDCELL_LIBRARY"
    )


class Library:
    """The bound functions, each an attribute of its C name."""

    path: str

    def __init__(self, path: str) -> None:
        self.path = path
        waiting = ctypes.CDLL(path)
        quick = ctypes.PyDLL(path)
        self._bind(waiting, {"sandcell_version": _ffi.QUICK["sandcell_version"]})
        check_version(self.sandcell_version(), path)
        self._bind(waiting, _ffi.WAITING)
        self._bind(quick, _ffi.QUICK)

    def _bind(self, handle: ctypes.CDLL, table: Dict[str, Any]) -> None:
        for name, (restype, argtypes) in table.items():
            try:
                function = getattr(handle, name)
            except AttributeError:
                raise ImportError(
                    f"sandcell {__version__}: {self.path} has no function '{name}'"
                ) from None
            function.restype = restype
            function.argtypes = argtypes
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.path} is bound without '{name}'")


def _candidates() -> List[str]:
    """Where to look: a library that was named is never replaced by another one."""
    named = os.environ.get("SANDCELL_LIBRARY")
    if named:
        return [named]
    return [os.path.join(os.path.dirname(os.path.abspath(__file__)), SONAME), SONAME]


def _open(candidates: List[str]) -> Library:
    tried = []
    for path in candidates:
        try:
            return Library(path)
        except OSError as error:
            tried.append(f"  {path}: {error}")
    raise ImportError(
        "sandcell: its library could not be loaded; install libsandcell, or set "
        "SANDCELL_LIBRARY to the path of " + SONAME + "\n" + "\n".join(tried)
    )


lib: Any = _open(_candidates())
