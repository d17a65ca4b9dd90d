"""Run code that nobody has reviewed, in a locked-down container that keeps its state.

::

    import sandcell

    with sandcell.Session() as session:
        session.execute("import math; x = math.tau")
        print(session.execute("x / 2").output)

Session is for ordinary programs, AsyncSession for asyncio, run() for one piece of code, and
ContainerSandboxFactory for OpenDataSci's ``Agent(sandbox_factory=…)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from ._async import AsyncSession
from ._engine import Engine
from ._errors import (
    BusyError,
    CallbackError,
    ConflictError,
    DataError,
    DeadlineError,
    EngineError,
    EngineUnreachableError,
    ForkError,
    InvalidArgumentError,
    LimitError,
    NotFoundError,
    OutOfMemoryError,
    ProtocolError,
    SandcellError,
    SandcellWarning,
    SessionClosedError,
    SessionGoneError,
)
from ._options import AttachOptions, SessionOptions
from ._policy import ALLOWED_CLI_COMMANDS, validate_cli_command
from ._result import Display, ExecResult, ExecutionError, Output
from ._session import Session, run
from ._state import Checkpoint, inspect_snapshot
from ._version import __version__

if TYPE_CHECKING:
    from .opendatasci import (
        BaseSandbox,
        BaseSandboxFactory,
        ContainerSandbox,
        ContainerSandboxFactory,
        SandboxExecResult,
    )

__all__ = [
    "ALLOWED_CLI_COMMANDS",
    "AsyncSession",
    "AttachOptions",
    "BaseSandbox",
    "BaseSandboxFactory",
    "BusyError",
    "CallbackError",
    "Checkpoint",
    "ConflictError",
    "ContainerSandbox",
    "ContainerSandboxFactory",
    "DataError",
    "DeadlineError",
    "Display",
    "Engine",
    "EngineError",
    "EngineUnreachableError",
    "ExecResult",
    "ExecutionError",
    "ForkError",
    "InvalidArgumentError",
    "LimitError",
    "NotFoundError",
    "OutOfMemoryError",
    "Output",
    "ProtocolError",
    "SandboxExecResult",
    "SandcellError",
    "SandcellWarning",
    "Session",
    "SessionClosedError",
    "SessionGoneError",
    "SessionOptions",
    "__version__",
    "inspect_snapshot",
    "run",
    "validate_cli_command",
]

_OPENDATASCI = frozenset(
    (
        "BaseSandbox",
        "BaseSandboxFactory",
        "ContainerSandbox",
        "ContainerSandboxFactory",
        "SandboxExecResult",
    )
)


def __getattr__(name: str) -> Any:
    """Import what stands on OpenDataSci's classes, and so OpenDataSci, when asked for."""
    if name not in _OPENDATASCI:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import opendatasci

    return getattr(opendatasci, name)


def __dir__() -> List[str]:
    return sorted(set(globals()) | _OPENDATASCI)
