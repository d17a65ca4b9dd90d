"""Sessions for ordinary, blocking programs."""

from __future__ import annotations

import os
import queue
import tempfile
import warnings
import weakref
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from . import _cleanup, _state
from ._calls import QUEUED_PIECES, Code, as_bytes, cli_options, execute_options
from ._engine import Engine, get_engine
from ._errors import SandcellWarning
from ._native import NativeSession, Ticket
from ._options import AttachOptions, PathLike, SessionOptions, Size
from ._output import Decoder, Forward, OnOutput
from ._result import Event, ExecResult
from ._state import Checkpoint, Content
from ._workers import run_aside, submit

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._calls import CliKeywords, ExecuteKeywords
    from ._options import AttachKeywords, SessionKeywords

_T = TypeVar("_T")


class Session:
    """One locked-down container, opened here and removed by ``close()``.

    ::

        with sandcell.Session() as session:
            session.execute("x = 6 * 7")
            print(session.execute("x").output)

    ``options`` are the fields of SessionOptions.  Calls from several threads wait for each
    other; ``interrupt()`` may come from any.  Ctrl-C stops the code in the container, and
    then raises KeyboardInterrupt here; the session stays usable.  What was granted, but not
    as asked for, is a SandcellWarning.
    """

    def __init__(
        self,
        image: Optional[str] = None,
        *,
        engine: Union[Engine, str, None] = None,
        **options: "Unpack[SessionKeywords]",
    ) -> None:
        self._start(NativeSession(SessionOptions(image=image, **options)), engine)

    @classmethod
    def attach(
        cls,
        name: str,
        *,
        engine: Union[Engine, str, None] = None,
        **options: "Unpack[AttachKeywords]",
    ) -> "Self":
        """Use a session that is open already, by this process or another one.

        ``options`` are the fields of AttachOptions.  The end of a ``with`` block only lets
        go of it; ``close()`` removes the container.
        """
        session = cls.__new__(cls)
        session._start(NativeSession(AttachOptions(**options), name), engine)
        return session

    def _start(self, native: NativeSession, engine: Union[Engine, str, None]) -> None:
        self._native = native
        self._finalizer = weakref.finalize(self, _cleanup.forgotten, native, "session")
        self._finalizer.atexit = False  # the clean-up sees to all of them at once
        run_aside(lambda: native.open(get_engine(engine)), native.give_up)
        for warning in native.warnings:
            warnings.warn(warning, SandcellWarning, stacklevel=3)

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *exc_info: Any) -> None:
        if self._native.attached and not self.closed:
            self.detach()
        else:
            self.close()

    # ---- what it is ----

    @property
    def name(self) -> str:
        """The session's name; made up by the library when none was given."""
        return self._native.name

    @property
    def container(self) -> str:
        """The engine's id of the container."""
        return self._native.container

    @property
    def closed(self) -> bool:
        return self._native.closed

    def describe(self) -> Dict[str, Any]:
        """What was granted: image, user, limits asked for and in force, warnings."""
        return self._native.describe()

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.container[:12]
        return f"<sandcell.{type(self).__name__} {self.name!r} {state}>"

    # ---- calls ----

    def execute(
        self,
        code: Code,
        *,
        on_output: Optional[OnOutput] = None,
        **options: "Unpack[ExecuteKeywords]",
    ) -> ExecResult:
        """Run Python code; variables, imports and functions stay for the next call.

        However the code ends, that is a result and no exception here.

        ``timeout``: seconds; ``math.inf`` for none.  ``stdin``: what the code can read.
        ``script``: run as that script, with ``args`` in ``sys.argv``.
        ``program``: end as one, by waiting for threads and running atexit functions.
        ``artifacts``: list the files that were created, changed or removed.
        ``recover``: when the code ends Python itself, go on with the variables from before.
        ``wait``: for calls of other clients; when false, BusyError.
        ``output_max``: bytes kept of each stream.
        ``stdout_file``, ``stderr_file``: files here that get all of it.
        ``on_output(stream, data)`` gets every byte as it arrives, possibly on another
        thread; what it raises stops the code and is raised here.
        """
        data = as_bytes(code)
        native = self._native
        if on_output is None and not native.logs:
            plain = execute_options(None, **options) if options else None
            return native.execute(data, plain, ExecResult)
        forward = None if on_output is None else Forward(on_output)
        prepared = execute_options(forward, **options)
        return self._aside(
            lambda ticket: native.execute(data, prepared, ExecResult, forward, ticket)
        )

    def execute_cli(
        self,
        command: str,
        *,
        on_output: Optional[OnOutput] = None,
        **options: "Unpack[CliKeywords]",
    ) -> ExecResult:
        """Run a command of the allowlist, or a pipeline of such; no shell is involved.

        A refused command is a result of status ``denied``.  With ``quoted_operators``,
        operators inside quotes are plain text; ``timeout``, ``output_max`` and
        ``on_output`` are as for execute().
        """
        native = self._native
        forward = None if on_output is None else Forward(on_output)
        prepared = cli_options(forward, **options)
        if forward is None and not native.logs:
            return native.execute_cli(command, prepared, ExecResult)
        return self._aside(
            lambda ticket: native.execute_cli(command, prepared, ExecResult, forward, ticket)
        )

    def stream(self, code: Code, **options: "Unpack[ExecuteKeywords]") -> Iterator[Event]:
        """Run code, and yield each Output as it arrives and last the ExecResult.

        The code starts with the loop, and is interrupted when the loop is left early.  A
        slow loop slows the code down: no more than a mebibyte waits here.
        """
        pieces = _Pieces()
        forward = Forward(pieces.put)
        prepared = execute_options(forward, **options)
        data = as_bytes(code)
        native, ticket, decoder = self._native, Ticket(), Decoder()

        def call() -> ExecResult:
            return native.execute(data, prepared, ExecResult, forward, ticket)

        submit(lambda: pieces.finish(call))
        try:
            for stream, piece in pieces:
                yield decoder.feed(stream, piece)
            yield from decoder.finish()
            yield pieces.last()
        finally:
            pieces.leave()
            native.cancel(ticket)

    def names(self) -> List[Dict[str, Any]]:
        """The variables: ``name``, ``type``, ``repr`` and ``size`` of each.

        No code of the session runs for it, not even a ``__repr__``.
        """
        return self._simple(_state.names)

    def history(self) -> List[Dict[str, Any]]:
        """What was executed since the last reset: ``cell`` and ``code`` of each call."""
        return self._simple(_state.history)

    def complete(self, code: str, cursor: Optional[int] = None) -> Dict[str, Any]:
        """What may stand at a cursor (default: the end): ``matches``, ``start``, ``end``."""
        return self._simple(lambda native: _state.complete(native, code, cursor))

    # ---- files ----

    def put(self, path: str, content: Content) -> None:
        """Write a file in the container; a relative path is one in the workspace.

        Missing directories are made; the file appears at once and whole.
        """
        self._simple(lambda native: _state.put(native, path, content))

    def get(self, path: str, *, limit: Optional[Size] = None) -> bytes:
        """Read a file of the container, of at most ``limit`` bytes (64 MiB)."""
        return self._simple(lambda native: _state.get(native, path, limit))

    # ---- state ----

    def snapshot(
        self,
        path: PathLike,
        *,
        exclude: Iterable[str] = (),
        compression: Optional[str] = "zstd",
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Save variables, functions and classes to a file here; the session goes on.

        The report holds ``names`` and ``skipped``: what can't be pickled, with the reason.
        ``compression`` is ``"zstd"``, ``"gzip"`` or None.
        """
        return self._simple(
            lambda native: _state.snapshot(native, path, exclude, compression, timeout)
        )

    def restore(
        self, path: PathLike, *, force: bool = False, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Replace the state by that of a snapshot, all of it or, on failure, nothing.

        ``force``: although another Python or image made it.
        """
        return self._simple(lambda native: _state.restore(native, path, force, timeout))

    def fork(self, **changes: "Unpack[SessionKeywords]") -> "Self":
        """Open another session with a copy of this one's state, and options but ``changes``.

        What a snapshot leaves out is not there.  A workspace on the host is shared; one in
        memory is not copied.
        """
        session = type(self).__new__(type(self))
        options = _state.fork_options(self._native, dict(changes))
        with tempfile.TemporaryDirectory(prefix="sandcell-") as folder:
            path = os.path.join(folder, "state")
            self.snapshot(path, compression=None)
            session._start(NativeSession(options), self._native.engine)
            try:
                session.restore(path)
            except BaseException:
                session.close()
                raise
        return session

    def checkpoint(self) -> Checkpoint:
        """Keep a copy of the Python process, with all that can't be pickled.

        It is gone after a reset or a restore; of more than 8, the oldest goes first.
        """
        return self._simple(_state.checkpoint)

    def rollback(self, point: Union[Checkpoint, int]) -> None:
        """Go back to a checkpoint, which stays.  Contents of files do not change."""
        self._simple(lambda native: _state.rollback(native, point))

    def drop_checkpoint(self, point: Union[Checkpoint, int]) -> None:
        """Forget a checkpoint, and free its memory."""
        self._simple(lambda native: _state.drop_checkpoint(native, point))

    def reset(self) -> None:
        """Clear variables, results, history, and processes that the code left behind."""
        self._simple(NativeSession.reset)

    def interrupt(self) -> None:
        """Stop the running call, if there is one.  From any thread or signal handler."""
        self._native.interrupt()

    # ---- life with other clients ----

    def interrupt_all(self) -> int:
        """Stop the calls of all clients of the session; returns how many there were."""
        return self._simple(_state.interrupt_all)

    def set_lease(self, seconds: float) -> None:
        """Set how long the session lives once its last client is gone."""
        self._simple(lambda native: _state.set_lease(native, seconds))

    def stat(self) -> Dict[str, Any]:
        """Figures: processes, memory, calls, clients, ages and what is left of the lease."""
        return self._simple(_state.stat)

    def execute_detached(self, code: Code, **options: "Unpack[ExecuteKeywords]") -> int:
        """Start code that goes on when this client is gone; needs a ``timeout``.

        Returns the call's number for fetch_result(), here or in another process.
        """
        data = as_bytes(code)
        prepared = execute_options(None, **options)
        return self._simple(
            lambda native: _state.execute_detached(native, data, prepared)
        )

    def fetch_result(
        self,
        call: int,
        *,
        timeout: Optional[float] = None,
        wait: bool = True,
        output_max: Optional[Size] = None,
        on_output: Optional[OnOutput] = None,
    ) -> ExecResult:
        """The result of a call by its number, among the last 64.

        While it runs, this waits (``timeout``: not longer than that, and then DeadlineError;
        not ``wait``: not at all, and then BusyError).  interrupt() ends the waiting.
        """
        forward = None if on_output is None else Forward(on_output)
        prepared = _state.fetch_options(forward, timeout, wait, output_max)
        return self._aside(
            lambda ticket: _state.fetch_result(
                self._native, call, prepared, ExecResult, forward, ticket
            )
        )

    def close(self) -> None:
        """Stop what runs and remove the container.  Calling it twice is fine."""
        run_aside(self._native.close)
        self._finalizer.detach()

    def detach(self) -> None:
        """Let go of the container, which lives on for as long as its lease says."""
        run_aside(self._native.detach)
        self._finalizer.detach()

    def _simple(self, function: Callable[[NativeSession], _T]) -> _T:
        """A call that calls back nothing but the log, if there is one."""
        native = self._native
        return run_aside(lambda: function(native)) if native.logs else function(native)

    def _aside(self, function: Callable[[Ticket], _T]) -> _T:
        ticket = Ticket()
        return run_aside(lambda: function(ticket), lambda: self._native.cancel(ticket))


class _Pieces:
    """Output between the thread that runs a call and the one that reads."""

    def __init__(self) -> None:
        self._queue: "queue.Queue[Optional[Tuple[str, bytes]]]" = queue.Queue(QUEUED_PIECES)
        self._left = False
        self._result: Optional[ExecResult] = None
        self._error: Optional[BaseException] = None

    def put(self, stream: str, data: bytes) -> None:
        if not self._left:
            self._queue.put((stream, data))

    def finish(self, call: Callable[[], ExecResult]) -> None:
        try:
            self._result = call()
        except BaseException as error:  # noqa: B902 - raised by the reader
            self._error = error
        self._queue.put(None)

    def __iter__(self) -> Iterator[Tuple[str, bytes]]:
        while True:
            piece = self._queue.get()
            if piece is None:
                return
            yield piece

    def last(self) -> ExecResult:
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def leave(self) -> None:
        """The reader takes nothing any more: let the writer go on, into nothing."""
        self._left = True
        try:
            while True:
                self._queue.get_nowait()
        except queue.Empty:
            pass


def run(
    code: Code,
    image: Optional[str] = None,
    *,
    engine: Union[Engine, str, None] = None,
    stdin: Optional[Code] = None,
    args: Sequence[str] = (),
    on_output: Optional[OnOutput] = None,
    **options: "Unpack[SessionKeywords]",
) -> ExecResult:
    """Run code as a program in a container of its own, which is removed afterwards.

    With ``args`` it runs as ``python -c CODE ARGS`` does, and its last expression is not
    an output.
    """
    script = "-c" if args else None
    with Session(image, engine=engine, **options) as session:
        return session.execute(
            code, stdin=stdin, script=script, args=args, program=True, on_output=on_output
        )
