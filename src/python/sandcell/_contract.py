"""OpenDataSci's classes when its package can be imported, else ours of like interface."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, AsyncContextManager, Optional

from ._result import ExecResult
from ._result import SandboxExecResult as OurResult


class OurSandbox(ABC):
    """Runs Python code and commands, and keeps the state between calls."""

    @abstractmethod
    async def execute(self, code: str) -> OurResult:
        """Run Python code."""

    @abstractmethod
    async def execute_cli(self, command: str) -> OurResult:
        """Run an allowed command; one that is not allowed is a failed result."""

    @abstractmethod
    def reset(self) -> None:
        """Clear history, variables and results."""

    async def close(self) -> None:
        """Release what the sandbox holds; nothing, unless a subclass says otherwise."""


class OurSandboxFactory(ABC):
    """Makes sandboxes that are closed when their ``async with`` block ends."""

    @abstractmethod
    def create(
        self, workspace_path: Optional[Path] = None
    ) -> AsyncContextManager[OurSandbox]:
        """Return a context manager that yields a fresh sandbox, and closes it."""


if TYPE_CHECKING:
    BaseSandbox = OurSandbox
    BaseSandboxFactory = OurSandboxFactory
    SandboxExecResult = OurResult
    Result = ExecResult
else:
    try:
        from opendatasci.sandbox.base import (
            BaseSandbox,
            BaseSandboxFactory,
            SandboxExecResult,
        )
    except ImportError as error:
        if error.name != "opendatasci":
            warnings.warn(f"sandcell: opendatasci can't be imported: {error}", stacklevel=2)
        BaseSandbox = OurSandbox
        BaseSandboxFactory = OurSandboxFactory
        SandboxExecResult = OurResult

    if SandboxExecResult is OurResult:
        Result = ExecResult
    else:

        class Result(ExecResult, SandboxExecResult):
            """An ExecResult that is also one of OpenDataSci's."""
