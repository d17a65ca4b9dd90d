"""The allowlist of commands, judged without a session."""

from __future__ import annotations

from ctypes import byref, c_void_p
from typing import FrozenSet, Optional

from . import _ffi
from ._engine import take_text
from ._errors import take_error
from ._library import lib

ALLOWED_CLI_COMMANDS: FrozenSet[str] = frozenset(
    "ls dir pwd tree cat head tail file stat grep find which cut sort uniq wc awk sed tr "
    "strings diff cmp md5sum sha256sum shasum jq xxd od echo printf date uname "
    "printenv env unzip tar zip".split()
)


def validate_cli_command(command: str, *, quoted_operators: bool = False) -> Optional[str]:
    """Return what is wrong with a command, its first violation, or None when it is allowed.

    Pure: nothing is run, read or asked.
    """
    if "\0" in command:
        return "the command holds a NUL character"
    try:
        data = command.encode()
    except UnicodeEncodeError:
        return "the command is no valid text"
    flags = _ffi.CLI_QUOTED_OPERATORS if quoted_operators else 0
    message = c_void_p()
    rc = lib.sandcell_validate_cli_command(data, flags, byref(message))
    if rc < 0:
        raise take_error(rc, c_void_p())
    return take_text(message) if rc else None
