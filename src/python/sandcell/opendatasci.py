"""A sandbox for OpenDataSci: ``Agent(sandbox_factory=ContainerSandboxFactory())``.

The classes here are subclasses of OpenDataSci's own when the package ``opendatasci`` can be
imported, and of classes with the same interface when it can't.  ``sandcell`` imports this
module when one of them is asked for, because OpenDataSci brings a lot with it.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    List,
    Optional,
    Union,
)

from ._async import AsyncSession
from ._contract import BaseSandbox, BaseSandboxFactory, Result, SandboxExecResult
from ._engine import Engine
from ._errors import SandcellError
from ._output import LineSplitter
from ._policy import ALLOWED_CLI_COMMANDS, validate_cli_command

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import SessionKeywords

__all__ = [
    "ALLOWED_CLI_COMMANDS",
    "BaseSandbox",
    "BaseSandboxFactory",
    "ContainerSandbox",
    "ContainerSandboxFactory",
    "SandboxExecResult",
    "validate_cli_command",
]

OnStdoutLine = Callable[[str], Awaitable[None]]

# What OpenDataSci promises to the code that it runs; save_result() comes with the kernel.
_PRELUDE = """\
workspacedir = __import__("pathlib").Path("/workspace")
opendatasci_directory = workspacedir / ".opendatasci"
try:
    opendatasci_directory.mkdir(exist_ok=True)
except OSError:
    pass  # a read-only workspace
"""


class _Session(AsyncSession):
    _result_type = Result


class ContainerSandbox(BaseSandbox):
    """A sandbox in a container of its own, which keeps variables between calls.

    ``workspace_path`` is seen as ``/workspace``, and as ``workspacedir`` in the code.
    ``command_timeout`` is in seconds and for each call.  ``options`` are the fields of
    sandcell.SessionOptions.  The container is opened by the first call, or by ``open()``.

    What happens to a call is never an exception: a refused command is a failed result with
    ``Error: …``, one that took too long with ``TimeoutError: …``, and one for which no
    container could be had with ``SandcellError: …``.
    """

    def __init__(
        self,
        workspace_path: Optional[Path] = None,
        *,
        command_timeout: Optional[float] = None,
        image: Optional[str] = None,
        engine: Union[Engine, str, None] = None,
        **options: "Unpack[SessionKeywords]",
    ) -> None:
        if workspace_path is not None:
            options["workspace"] = workspace_path
        if command_timeout is not None:
            options["timeout"] = command_timeout
        self._session = _Session(image, engine=engine, **options)
        self._timeout = options.get("timeout")
        self._history: List[SandboxExecResult] = []
        self._resets = 0
        self._resets_done = 0
        self._prepared = False  # the prelude has run in the kernel that is there now
        self._turn_lock: Optional[asyncio.Lock] = None

    @property
    def session(self) -> AsyncSession:
        """The session underneath, for all that OpenDataSci's interface does not have."""
        return self._session

    async def open(self) -> None:
        """Open the container now, so that a failure is an exception here."""
        async with self._turn():
            await self._prepare()

    async def execute(
        self, code: str, on_stdout_line: Optional[OnStdoutLine] = None
    ) -> SandboxExecResult:
        """Run Python code.

        ``on_stdout_line`` is awaited with each line of standard output as it arrives; empty
        lines are left out.
        """

        async def call() -> Result:
            if on_stdout_line is None:
                return await self._session.execute(code)
            lines = _Lines(on_stdout_line)
            result = await self._session.execute(code, on_output=lines.feed)
            await lines.finish()
            return result

        return await self._call(call, code)

    async def execute_cli(self, command: str) -> SandboxExecResult:
        """Run an allowed command, or a pipeline of such."""
        violation = validate_cli_command(command)
        if violation is not None:
            result = _failed(command, f"Error: {violation}", "denied")
            self._history.append(result)
            return result
        return await self._call(lambda: self._session.execute_cli(command), command)

    def get_history(self) -> List[SandboxExecResult]:
        """The results since the start or the last reset, oldest first."""
        return list(self._history)

    def reset(self) -> None:
        """Clear the history now, and variables and results before the next call."""
        self._history.clear()
        self._resets += 1

    async def close(self) -> None:
        """Stop what runs and remove the container.  Calling it twice is fine."""
        await self._session.close()

    # ---- one call at a time ----

    def _turn(self) -> asyncio.Lock:
        if self._turn_lock is None:  # made in the running loop, as Python 3.9 wants it
            self._turn_lock = asyncio.Lock()
        return self._turn_lock

    async def _call(
        self, call: Callable[[], Awaitable[Result]], code: str
    ) -> SandboxExecResult:
        async with self._turn():
            resets = self._resets
            try:
                await self._prepare()
                result = self._convert(await call())
            except (SandcellError, UnicodeError) as error:
                result = _failed(code, f"SandcellError: {error}", "error")
                self._prepared = False
            except BaseException:  # cancelled, or raised by on_stdout_line
                self._prepared = False
                raise
            if not result.state_preserved:
                self._prepared = False
            if resets == self._resets:  # else a reset meanwhile has cleared the history
                self._history.append(result)
            return result

    async def _prepare(self) -> None:
        """Open the container, do what reset() put off, and define the promised names."""
        resets = self._resets
        if self._prepared and self._resets_done == resets:
            return
        self._prepared = False
        await self._session.open()
        if self._resets_done != resets:
            await self._session.reset()
            self._resets_done = resets
        result = await self._session.execute(_PRELUDE)
        if not result.success:
            raise SandcellError(f"preparing the sandbox: {result.error or result.status}")
        self._prepared = True

    def _convert(self, result: Result) -> Result:
        """Name timeouts and refusals as OpenDataSci's sandboxes do."""
        error = result.error or ""
        if result.status == "timeout" and not error.startswith("TimeoutError"):
            after = "" if self._timeout is None else f" after {self._timeout:g}s"
            result.error = f"TimeoutError: execution timed out{after}\n{error}".rstrip()
        elif result.status == "denied" and not error.startswith("Error"):
            result.error = f"Error: {error}"
        return result


class ContainerSandboxFactory(BaseSandboxFactory):
    """Makes container sandboxes; the arguments are those of ContainerSandbox.

    ::

        async with ContainerSandboxFactory(memory="1g").create(path) as sandbox:
            result = await sandbox.execute("6 * 7")
    """

    def __init__(
        self,
        *,
        command_timeout: Optional[float] = None,
        image: Optional[str] = None,
        engine: Union[Engine, str, None] = None,
        **options: "Unpack[SessionKeywords]",
    ) -> None:
        self._command_timeout = command_timeout
        self._image = image
        self._engine = engine
        self._options = options

    @asynccontextmanager
    async def create(
        self, workspace_path: Optional[Path] = None
    ) -> AsyncIterator[ContainerSandbox]:
        """Open a fresh sandbox, and close it however the ``async with`` block ends."""
        sandbox = ContainerSandbox(
            workspace_path,
            command_timeout=self._command_timeout,
            image=self._image,
            engine=self._engine,
            **self._options,
        )
        try:
            await sandbox.open()
            yield sandbox
        finally:
            await sandbox.close()


class _Lines:
    """Output pieces to awaited calls, one for each line of stdout."""

    def __init__(self, on_line: OnStdoutLine) -> None:
        self._splitter = LineSplitter()
        self._on_line = on_line

    async def feed(self, stream: str, data: bytes) -> None:
        if stream == "stdout":
            await self._send(self._splitter.feed(data))

    async def finish(self) -> None:
        await self._send(self._splitter.finish())

    async def _send(self, lines: List[str]) -> None:
        for line in lines:
            if line:
                await self._on_line(line)


def _failed(code: str, error: str, status: str) -> Any:
    return Result(success=False, error=error, code=code, status=status)
