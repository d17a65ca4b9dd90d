"""The arguments of one call, in the library's terms."""

from __future__ import annotations

from typing import Optional, Sequence, Union

from . import _ffi
from ._options import milliseconds, size, text, texts
from ._output import Forward

Code = Union[str, bytes]

QUEUED_PIECES = 16  # of output, at most 64 KiB each, that stream() holds back


def execute_options(
    forward: Optional[Forward],
    timeout: Optional[float],
    stdin: Optional[Code],
    script: Optional[str],
    args: Sequence[str],
    output_max: Union[int, str, None],
    program: bool,
) -> Optional[_ffi.ExecuteOptions]:
    """The library's struct, or None when everything is as it is by default."""
    given = (forward, timeout, stdin, script, output_max)
    if given == (None,) * len(given) and not args and not program:
        return None
    data = stdin.encode() if isinstance(stdin, str) else stdin
    options = _ffi.ExecuteOptions(
        script=text(script, "script"),
        args=texts(args, "args"),
        output_max=size(output_max, "output_max"),
        timeout_ms=milliseconds(timeout, "timeout"),
        flags=_ffi.EXECUTE_PROGRAM if program else 0,
    )
    if data is not None:
        options.stdin_data = bytes(data)
        options.stdin_len = len(data)
    if forward is not None:
        options.on_output = forward.callback
    return options


def cli_options(
    forward: Optional[Forward],
    timeout: Optional[float],
    output_max: Union[int, str, None],
    quoted_operators: bool,
) -> _ffi.CliOptions:
    options = _ffi.CliOptions(
        output_max=size(output_max, "output_max"),
        timeout_ms=milliseconds(timeout, "timeout"),
        flags=_ffi.CLI_QUOTED_OPERATORS if quoted_operators else 0,
    )
    if forward is not None:
        options.on_output = forward.callback
    return options


def as_bytes(code: Code) -> bytes:
    return code.encode() if isinstance(code, str) else bytes(code)
