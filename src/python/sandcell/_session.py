"""Sessions for ordinary, blocking programs."""

from __future__ import annotations

import queue
import warnings
import weakref
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from . import _cleanup
from ._calls import QUEUED_PIECES, Code, as_bytes, cli_options, execute_options
from ._engine import Engine, get_engine
from ._errors import SandcellWarning
from ._native import NativeSession, Ticket
from ._options import SessionOptions
from ._output import Decoder, Forward, OnOutput
from ._result import Event, ExecResult
from ._workers import run_aside, submit

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._calls import CliKeywords, ExecuteKeywords
    from ._options import SessionKeywords

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
        self._native = NativeSession(SessionOptions(image=image, **options))
        self._finalizer = weakref.finalize(
            self, _cleanup.forgotten, self._native, "session"
        )
        self._finalizer.atexit = False  # the clean-up sees to all of them at once
        native = self._native
        run_aside(lambda: native.open(get_engine(engine)), native.give_up)
        for warning in native.warnings:
            warnings.warn(warning, SandcellWarning, stacklevel=2)

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *exc_info: Any) -> None:
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
        return self._simple(self._native.names)

    def history(self) -> List[Dict[str, Any]]:
        """What was executed since the last reset: ``cell`` and ``code`` of each call."""
        return self._simple(self._native.history)

    def complete(self, code: str, cursor: Optional[int] = None) -> Dict[str, Any]:
        """What may stand at a cursor (default: the end): ``matches``, ``start``, ``end``."""
        native = self._native
        return self._simple(lambda: native.complete(code, cursor))

    def interrupt(self) -> None:
        """Stop the running call, if there is one.  From any thread or signal handler."""
        self._native.interrupt()

    def reset(self) -> None:
        """Clear variables, results, history, and processes that the code left behind."""
        self._simple(self._native.reset)

    def close(self) -> None:
        """Stop what runs and remove the container.  Calling it twice is fine."""
        run_aside(self._native.close)
        self._finalizer.detach()

    def detach(self) -> None:
        """Let go of the container, which lives on for as long as its lease says."""
        self._native.detach()
        self._finalizer.detach()

    def _simple(self, function: Callable[[], _T]) -> _T:
        """A call that calls back nothing but the log, if there is one."""
        return run_aside(function) if self._native.logs else function()

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
