"""Sessions for asyncio programs.

Each call waits on a thread; the event loop is only told of its end.  Calls on one session
take turns, in the order in which they were awaited.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import tempfile
import threading
import warnings
import weakref
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Dict,
    Iterable,
    List,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from . import _cleanup, _state
from ._calls import QUEUED_PIECES, Code, as_bytes, cli_options, execute_options
from ._engine import Engine, get_engine
from ._errors import SandcellWarning, SessionClosedError
from ._native import NativeSession, Ticket
from ._options import AttachOptions, PathLike, SessionOptions, Size
from ._output import Decoder, Forward
from ._result import Event, ExecResult
from ._state import Checkpoint, Content
from ._workers import submit

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._calls import CliKeywords, ExecuteKeywords
    from ._options import AttachKeywords, SessionKeywords

_T = TypeVar("_T")
_Kind = TypeVar("_Kind", bound=ExecResult)

# Called in the event loop, in order; when it returns an awaitable, that is awaited.
OnAsyncOutput = Callable[[str, bytes], Union[Any, Awaitable[Any]]]


def _settle(
    future: "asyncio.Future[Any]", value: Any, error: Optional[BaseException]
) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


async def run_in_thread(
    function: Callable[[], _T], cancel: Optional[Callable[[], Any]] = None
) -> _T:
    """Await a function that waits on a thread.

    When the awaiting task is cancelled, ``cancel`` is called and the function's end awaited
    all the same, so that nothing of it runs on; a second cancellation does not wait.
    """
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[_T]" = loop.create_future()

    def tell(value: Any, error: Optional[BaseException]) -> None:
        try:
            loop.call_soon_threadsafe(_settle, future, value, error)
        except RuntimeError:
            pass  # the loop was closed: nobody waits

    def job() -> None:
        try:
            value = function()
        except BaseException as error:  # noqa: B902 - raised by the awaiting task
            tell(None, error)
        else:
            tell(value, None)

    submit(job)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if cancel is not None:
            cancel()
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            future.cancel()
        else:
            future.exception()  # seen, if there is one
        raise


class _Pieces:
    """Output between the thread that runs a call and the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: "asyncio.Queue[Optional[Tuple[str, bytes]]]" = asyncio.Queue()
        self._room = threading.Semaphore(QUEUED_PIECES)
        self._left = False

    def put(self, stream: str, data: bytes) -> None:
        """On the thread: waits while the loop is behind."""
        if not self._left:
            self._room.acquire()
            self._loop.call_soon_threadsafe(self._queue.put_nowait, (stream, data))

    def end(self) -> None:
        """In the loop: nothing comes any more."""
        self._queue.put_nowait(None)

    async def get(self) -> Optional[Tuple[str, bytes]]:
        piece = await self._queue.get()
        self._room.release()
        return piece

    def leave(self) -> None:
        """In the loop: take nothing any more, and let the thread go on, into nothing."""
        self._left = True
        self._room.release()


class AsyncSession:
    """One locked-down container, for asyncio.

    ::

        async with sandcell.AsyncSession() as session:
            result = await session.execute("6 * 7")

    The container is opened by ``async with``, by ``open()``, or by the first call.
    Cancelling a task that awaits a call interrupts the code in the container; the session
    stays usable.  For the rest see Session.
    """

    _result_type: Type[ExecResult] = ExecResult

    def __init__(
        self,
        image: Optional[str] = None,
        *,
        engine: Union[Engine, str, None] = None,
        **options: "Unpack[SessionKeywords]",
    ) -> None:
        self._set_up(SessionOptions(image=image, **options), None, engine)

    @classmethod
    def attach(
        cls,
        name: str,
        *,
        engine: Union[Engine, str, None] = None,
        **options: "Unpack[AttachKeywords]",
    ) -> "Self":
        """Use a session that is open already; see Session.attach()."""
        session = cls.__new__(cls)
        session._set_up(AttachOptions(**options), name, engine)
        return session

    def _set_up(
        self,
        options: Union[SessionOptions, AttachOptions],
        name: Optional[str],
        engine: Union[Engine, str, None],
    ) -> None:
        self._options = options
        self._name = name
        self._engine = engine
        self._native: Optional[NativeSession] = None
        self._finalizer: Optional[weakref.finalize] = None
        self._turn_loop: Optional[asyncio.AbstractEventLoop] = None
        self._turn_lock: Optional[asyncio.Lock] = None
        self._closed = False

    async def __aenter__(self) -> "Self":
        await self.open()
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        if self._native is not None and self._native.attached and not self._closed:
            await self.detach()
        else:
            await self.close()

    # ---- what it is ----

    @property
    def name(self) -> str:
        return self._native.name if self._native else self._name or ""

    @property
    def container(self) -> str:
        return self._native.container if self._native else ""

    @property
    def closed(self) -> bool:
        return self._closed

    def __repr__(self) -> str:
        state = "closed" if self._closed else self.container[:12] or "not open yet"
        return f"<sandcell.{type(self).__name__} {self.name!r} {state}>"

    # ---- life ----

    async def open(self) -> None:
        """Open the container, if that has not been done."""
        async with self._turn():
            await self._opened()

    async def close(self) -> None:
        """Stop what runs and remove the container.  Calling it twice is fine."""
        self._closed = True
        native = self._native
        if native is not None:
            native.give_up()  # at once: the thread for the rest may be long in coming
            await run_in_thread(native.close)
            if self._finalizer is not None:
                self._finalizer.detach()

    async def detach(self) -> None:
        """Let go of the container, which lives on for as long as its lease says."""
        await self._simple(NativeSession.detach)
        self._closed = True
        if self._finalizer is not None:
            self._finalizer.detach()

    def _turn(self) -> asyncio.Lock:
        """The lock of this session in the running loop; made there, as 3.9 wants it."""
        loop = asyncio.get_running_loop()
        if self._turn_lock is None or self._turn_loop is not loop:
            self._turn_lock, self._turn_loop = asyncio.Lock(), loop
        return self._turn_lock

    async def _opened(self) -> NativeSession:
        """The open session; the caller has its turn."""
        if self._closed:
            raise SessionClosedError(f"session {self.name!r} is closed")
        if self._native is None or self._native.closed:
            native = self._native = NativeSession(self._options, self._name)
            self._finalizer = weakref.finalize(
                self, _cleanup.forgotten, native, "session"
            )
            self._finalizer.atexit = False
            engine = self._engine
            await run_in_thread(lambda: native.open(get_engine(engine)), native.give_up)
            for warning in native.warnings:
                warnings.warn(warning, SandcellWarning, stacklevel=2)
        return self._native

    # ---- calls ----

    async def execute(
        self,
        code: Code,
        *,
        on_output: Optional[OnAsyncOutput] = None,
        **options: "Unpack[ExecuteKeywords]",
    ) -> ExecResult:
        """Run Python code; see Session.execute().

        ``on_output`` is called in the event loop, and awaited when it is a coroutine
        function; all of the output has been through it when the result is there.
        """
        data = as_bytes(code)

        def call(native: NativeSession, prepared: Any, *rest: Any) -> ExecResult:
            return native.execute(data, prepared, self._result_type, *rest)

        return await self._call(
            lambda forward: execute_options(forward, **options), call, on_output
        )

    async def execute_cli(
        self,
        command: str,
        *,
        on_output: Optional[OnAsyncOutput] = None,
        **options: "Unpack[CliKeywords]",
    ) -> ExecResult:
        """Run a command of the allowlist; see Session.execute_cli()."""

        def call(native: NativeSession, prepared: Any, *rest: Any) -> ExecResult:
            return native.execute_cli(command, prepared, self._result_type, *rest)

        return await self._call(
            lambda forward: cli_options(forward, **options), call, on_output
        )

    async def stream(
        self, code: Code, **options: "Unpack[ExecuteKeywords]"
    ) -> AsyncIterator[Event]:
        """Run code, and yield each Output as it arrives and last the ExecResult.

        Leave the loop early only through ``contextlib.aclosing()`` or ``aclose()``: the
        code is interrupted when the iterator is closed.
        """
        pieces: "asyncio.Queue[Any]" = asyncio.Queue(1)
        decoder = Decoder()

        async def take(stream: str, data: bytes) -> None:
            await pieces.put(decoder.feed(stream, data))

        async def call() -> None:
            try:
                last: Any = await self.execute(code, on_output=take, **options)
            except Exception as error:
                last = error
            await pieces.put(last)

        task = asyncio.ensure_future(call())
        try:
            while True:
                piece = await pieces.get()
                if isinstance(piece, Exception):
                    raise piece
                if isinstance(piece, ExecResult):
                    for rest in decoder.finish():
                        yield rest
                    yield piece
                    return
                yield piece
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def names(self) -> List[Dict[str, Any]]:
        """The variables; see Session.names()."""
        return await self._simple(_state.names)

    async def history(self) -> List[Dict[str, Any]]:
        """What was executed since the last reset: ``cell`` and ``code`` of each call."""
        return await self._simple(_state.history)

    async def complete(self, code: str, cursor: Optional[int] = None) -> Dict[str, Any]:
        """What may stand at a cursor (default: the end): ``matches``, ``start``, ``end``."""
        return await self._simple(lambda native: _state.complete(native, code, cursor))

    async def reset(self) -> None:
        """Clear variables, results, history, and processes that the code left behind."""
        await self._simple(NativeSession.reset)

    def interrupt(self) -> None:
        """Stop the running call, if there is one.  From any thread."""
        if self._native is not None:
            self._native.interrupt()

    async def describe(self) -> Dict[str, Any]:
        """What was granted: image, user, limits asked for and in force, warnings."""
        return await self._simple(NativeSession.describe)

    # ---- files and state; see Session ----

    async def put(self, path: str, content: Content) -> None:
        await self._simple(lambda native: _state.put(native, path, content))

    async def get(self, path: str, *, limit: Optional[Size] = None) -> bytes:
        return await self._simple(lambda native: _state.get(native, path, limit))

    async def snapshot(
        self,
        path: PathLike,
        *,
        exclude: Iterable[str] = (),
        compression: Optional[str] = "zstd",
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        return await self._simple(
            lambda native: _state.snapshot(native, path, exclude, compression, timeout)
        )

    async def restore(
        self, path: PathLike, *, force: bool = False, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        return await self._simple(
            lambda native: _state.restore(native, path, force, timeout)
        )

    async def fork(self, **changes: "Unpack[SessionKeywords]") -> "Self":
        async with self._turn():
            native = await self._opened()
        session = type(self).__new__(type(self))
        session._set_up(_state.fork_options(native, dict(changes)), None, native.engine)
        with tempfile.TemporaryDirectory(prefix="sandcell-") as folder:
            path = os.path.join(folder, "state")
            await self.snapshot(path, compression=None)
            try:
                await session.restore(path)
            except BaseException:
                await session.close()
                raise
        return session

    async def checkpoint(self) -> Checkpoint:
        return await self._simple(_state.checkpoint)

    async def rollback(self, point: Union[Checkpoint, int]) -> None:
        await self._simple(lambda native: _state.rollback(native, point))

    async def drop_checkpoint(self, point: Union[Checkpoint, int]) -> None:
        await self._simple(lambda native: _state.drop_checkpoint(native, point))

    # ---- life with other clients; see Session ----

    async def interrupt_all(self) -> int:
        return await self._simple(_state.interrupt_all)

    async def set_lease(self, seconds: float) -> None:
        await self._simple(lambda native: _state.set_lease(native, seconds))

    async def stat(self) -> Dict[str, Any]:
        return await self._simple(_state.stat)

    async def execute_detached(
        self, code: Code, **options: "Unpack[ExecuteKeywords]"
    ) -> int:
        data = as_bytes(code)
        prepared = execute_options(None, **options)
        return await self._simple(
            lambda native: _state.execute_detached(native, data, prepared)
        )

    async def fetch_result(
        self,
        call: int,
        *,
        timeout: Optional[float] = None,
        wait: bool = True,
        output_max: Optional[Size] = None,
        on_output: Optional[OnAsyncOutput] = None,
    ) -> ExecResult:
        return await self._call(
            lambda forward: _state.fetch_options(forward, timeout, wait, output_max),
            lambda native, prepared, *rest: _state.fetch_result(
                native, call, prepared, self._result_type, *rest
            ),
            on_output,
        )

    async def _simple(self, function: Callable[[NativeSession], _T]) -> _T:
        async with self._turn():
            native = await self._opened()
            return await run_in_thread(lambda: function(native), native.interrupt)

    async def _call(
        self,
        prepare: Callable[[Optional[Forward]], Any],
        call: Callable[..., _Kind],
        on_output: Optional[OnAsyncOutput],
    ) -> _Kind:
        pieces = None if on_output is None else _Pieces()
        forward = None if pieces is None else Forward(pieces.put)
        options = prepare(forward)
        async with self._turn():
            native = await self._opened()
            ticket = Ticket()
            running = run_in_thread(
                lambda: call(native, options, forward, ticket),
                lambda: native.cancel(ticket),
            )
            if pieces is None or on_output is None:
                return await running
            return await _with_output(running, pieces, on_output)


async def _deliver(pieces: _Pieces, on_output: OnAsyncOutput) -> None:
    while True:
        piece = await pieces.get()
        if piece is None:
            return
        answer = on_output(*piece)
        if inspect.isawaitable(answer):
            await answer


async def _with_output(
    running: Awaitable[_Kind], pieces: _Pieces, on_output: OnAsyncOutput
) -> _Kind:
    """Await a call while its output is delivered; the end of either ends both."""
    call = asyncio.ensure_future(running)
    call.add_done_callback(lambda _: pieces.end())
    delivery = asyncio.ensure_future(_deliver(pieces, on_output))
    try:
        await asyncio.wait([call, delivery], return_when=asyncio.FIRST_EXCEPTION)
        if delivery.done() and delivery.exception() is not None:
            delivery.result()
        await delivery
        return await call
    finally:
        pieces.leave()
        for task in (call, delivery):
            task.cancel()
        await asyncio.wait([call, delivery])
