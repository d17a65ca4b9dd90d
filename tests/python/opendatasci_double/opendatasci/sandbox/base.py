"""Names and signatures as published; no behaviour but what the interface promises."""
from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ALLOWED_CLI_COMMANDS: frozenset[str] = frozenset({
    "awk", "cat", "cmp", "cut", "date", "diff", "dir", "echo", "env", "file", "find", "grep",
    "head", "jq", "ls", "md5sum", "od", "printenv", "printf", "pwd", "sed", "sha256sum",
    "shasum", "sort", "stat", "strings", "tail", "tar", "tr", "tree", "uname", "uniq",
    "unzip", "wc", "which", "xxd", "zip",
})


def validate_cli_command(command: str) -> str | None:
    raise NotImplementedError


@dataclass
class SandboxExecResult:
    success: bool
    output: Any = None
    stdout: str = ""
    error: str | None = None
    code: str = ""


class BaseSandbox(ABC):
    @abstractmethod
    async def execute(self, code: str) -> SandboxExecResult: ...

    @abstractmethod
    async def execute_cli(self, command: str) -> SandboxExecResult: ...

    @abstractmethod
    def reset(self) -> None: ...

    async def close(self) -> None: ...


class BaseSandboxFactory(ABC):
    @abstractmethod
    def create(
        self, workspace_path: Path | None = None
    ) -> AbstractAsyncContextManager[BaseSandbox]: ...
