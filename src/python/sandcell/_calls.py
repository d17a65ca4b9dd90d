"""The arguments of one call, in the library's terms."""

from __future__ import annotations

from typing import Optional, Sequence, TypedDict, Union

from . import _ffi
from ._options import PathLike, Size, milliseconds, path, size, text, texts
from ._output import Forward

Code = Union[str, bytes]

QUEUED_PIECES = 16  # of output, at most 64 KiB each, that stream() holds back


class ExecuteKeywords(TypedDict, total=False):
    """The keywords of a call that runs code; Session.execute() says what they mean."""

    timeout: Optional[float]
    stdin: Optional[Code]
    script: Optional[str]
    args: Sequence[str]
    program: bool
    artifacts: bool
    recover: bool
    wait: bool
    output_max: Optional[Size]
    stdout_file: Optional[PathLike]
    stderr_file: Optional[PathLike]


class CliKeywords(TypedDict, total=False):
    """The keywords of a call that runs a command; see Session.execute_cli()."""

    timeout: Optional[float]
    output_max: Optional[Size]
    quoted_operators: bool


def as_bytes(code: Code) -> bytes:
    return code.encode() if isinstance(code, str) else bytes(code)


def execute_options(
    forward: Optional[Forward],
    *,
    timeout: Optional[float] = None,
    stdin: Optional[Code] = None,
    script: Optional[str] = None,
    args: Sequence[str] = (),
    program: bool = False,
    artifacts: bool = False,
    recover: bool = False,
    wait: bool = True,
    output_max: Optional[Size] = None,
    stdout_file: Optional[PathLike] = None,
    stderr_file: Optional[PathLike] = None,
) -> _ffi.ExecuteOptions:
    options = _ffi.ExecuteOptions(
        script=text(script, "script"),
        args=texts(args, "args"),
        output_max=size(output_max, "output_max"),
        timeout_ms=milliseconds(timeout, "timeout"),
        stdout_file=path(stdout_file, "stdout_file"),
        stderr_file=path(stderr_file, "stderr_file"),
    )
    if program:
        options.flags |= _ffi.EXECUTE_PROGRAM
    if artifacts:
        options.flags |= _ffi.EXECUTE_ARTIFACTS
    if recover:
        options.flags |= _ffi.EXECUTE_RECOVER
    if not wait:
        options.flags |= _ffi.EXECUTE_NO_WAIT
    if stdin is not None:
        data = as_bytes(stdin)
        options.stdin_data = data
        options.stdin_len = len(data)
    if forward is not None:
        options.on_output = forward.callback
    return options


def cli_options(
    forward: Optional[Forward],
    *,
    timeout: Optional[float] = None,
    output_max: Optional[Size] = None,
    quoted_operators: bool = False,
) -> _ffi.CliOptions:
    options = _ffi.CliOptions(
        output_max=size(output_max, "output_max"),
        timeout_ms=milliseconds(timeout, "timeout"),
        flags=_ffi.CLI_QUOTED_OPERATORS if quoted_operators else 0,
    )
    if forward is not None:
        options.on_output = forward.callback
    return options
