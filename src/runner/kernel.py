"""The process that runs the user's code: one namespace, one cell after another.

The supervisor's frames come over a private socket; what the code prints goes through its own pipes.
Everything that answers a frame is bound when this module is imported, before any user code runs:
user code may replace or break whatever it can reach, and its own result is all that suffers.
"""

import atexit
import builtins
import faulthandler
import os
import resource
import struct
import sys
import threading
import time
import types

from _sandcell import awaiting, copies, display, figures, frames, gate, hooks, names
from _sandcell import persist, report, source, streams
from _sandcell import value as values

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

READ = 65536  # larger reads go through mmap: 50 us more for each request
MAX_FRAME = frames.MAX_CONTENT + frames.MAX_PAYLOAD
MAX_REPLY = 1 << 20
HISTORY_CELLS = 1000
HISTORY_CHARS = 4 << 20
HISTORY_CELL_CHARS = 50_000
MAX_RESULTS = 1000
RESULT = "application/vnd.sandcell.result+json"
LEAST_RECURSION = 100
MAX_STRAYS = 1000
FATAL = (OSError, BrokenPipeError, ConnectionResetError, frames.FrameError, KeyError)

# The header of every call's end, in half the time that the JSON encoder takes.
DONE = (
    '{"type":"done","id":%d,"status":"%s","exit_code":%s,"output_kind":"%s",'
    '"cpu_ns":%d,"peak_bytes":%d,"parts":[["output",%d],["error",%d]]}'
)

_read, _write, _getpid, _exit = os.read, os.write, os.getpid, os._exit
_lengths = struct.Struct(">II").pack
_sleep = time.sleep
_clock, _cpu = time.clock_gettime_ns, time.CLOCK_PROCESS_CPUTIME_ID
_usage = resource.getrusage
_exc_info = sys.exc_info
_end_threads, _run_exit_functions = threading._shutdown, atexit._run_exitfuncs
_set_trace, _set_profile = sys.settrace, sys.setprofile


def main(control, config):
    """Serves the supervisor's frames on control until it closes them; never returns."""
    kernel = Kernel(control, config)
    if config.get("restore"):
        kernel.persist.restore()
    while True:
        try:
            kernel.serve()
        except BaseException:
            pass  # a storm of signals from the code itself, faster than the handlers can return


# What Python calls code that has no file; `script` holds what it then has as sys.argv[0].
NAMES = {"-c": "<string>", "-": "<stdin>"}


class Cell:
    """One execute call and what came of it."""

    ended = False  # all of it ran, the flushing at its end too
    interrupted = False
    status = None
    exit_code = None
    kind = "none"
    output = b""
    error = b""

    def __init__(self, header, content):
        parts = frames.split_parts(header, content)
        self.id = header["id"]
        self.number = header.get("cell", 0)
        self.code = parts.get("code", b"")
        self.stdin = parts.get("stdin")
        self.script = header.get("script")
        self.args = header.get("args") or []
        self.program = header.get("program")
        self.name = NAMES.get(self.script, self.script) or "<cell %d>" % self.number
        self.cpu = _clock(_cpu)

    def fail(self, kind, error, tb):
        """Takes what the code raised.  May run user code (`__str__`)."""
        self.kind, self.output = "none", b""
        self.status = "error"
        if sys.getrecursionlimit() < LEAST_RECURSION:
            sys.setrecursionlimit(1000)
        if issubclass(kind, SystemExit):
            self.status = "exited"
            self.exit_code, text = report.exit_code(error)
            self.error = report.clip(text)
        else:
            self.interrupted = issubclass(kind, KeyboardInterrupt)
            self.error = report.text(kind, error, tb, self.name)

    def fail_plainly(self, kind):
        """The same where there was no time for more."""
        self.kind, self.output = "none", b""
        self.status = "error"
        self.interrupted = True
        self.error = values.name_of(kind).encode("utf-8", "backslashreplace")


class Kernel:
    def __init__(self, control, config):
        self.pid = _getpid()
        self.reader = frames.Reader(MAX_FRAME)
        self.sending = threading.Lock()
        self.streams = streams.Streams()
        self.compiler = source.Compiler()
        self.awaiter = awaiting.Awaiter()
        self.displays = display.Displays(self._send_display)
        self.figures = self.displays.figures = figures.Figures(self.displays)
        self.cell = None
        self.late_interrupt = False
        self.strays = 0
        self.history = []
        self.history_chars = 0
        self.history_cells = config.get("history_cells", HISTORY_CELLS)
        self.results = {}
        self.persist = persist.Persist(self)
        self.handlers = {
            "execute": self._execute,
            "inspect": self._answer(self._inspect),
            "complete": self._answer(self._complete),
            "history": self._answer(self._history),
            "drain": self._drain,
            "snapshot": self.persist.snapshot,
            "checkpoint": copies.Copies(self).checkpoint,
        }
        self.attach(control)
        self._make_namespace(config)
        os.register_at_fork(before=self.streams.flush, after_in_child=self._after_fork)

    def attach(self, control, stdout=1, stderr=2):
        """Takes these descriptors; control is closed, a duplicate out of the way takes its place."""
        self.control = streams.move_high(control)
        os.close(control)
        self.streams.attach(stdout, stderr)
        faulthandler.enable(self.streams.err_fd)  # a crash says on stderr where it was

    def become(self, control, stdout, stderr):
        """In a fork that takes a kernel's place."""
        self.pid = _getpid()
        self.reader = frames.Reader(MAX_FRAME)
        self.sending = threading.Lock()
        self.awaiter = awaiting.Awaiter()  # what wakes the old loop is gone
        self.streams.renew()
        self.attach(control, stdout, stderr)

    def _make_namespace(self, config):
        self.module = types.ModuleType("__main__")
        self.namespace = self.module.__dict__
        sys.argv = [""]
        if sys.path[:1] != [""]:
            sys.path.insert(0, "")
        if config.get("cwd"):
            os.chdir(config["cwd"])
        builtins.display = self.displays.display
        builtins.save_result = self._save_result
        # Code written for notebooks imports its display() from there, and calls plt.show().
        hooks.when_loaded(
            {
                figures.PYPLOT: self.figures.take_over,
                "IPython.core.display_functions": self.displays.take_over,
            }
        )
        self._restore_namespace()

    def _restore_namespace(self, modules=sys.modules):
        modules["__main__"] = self.module
        self.namespace.setdefault("__builtins__", builtins)

    # ---- frames

    def serve(self):
        while True:
            try:
                gate.shut()
                if self.cell is not None:
                    self._finish()
                self._serve_frames()
            except BaseException:
                self._note_stray(_exc_info()[0])

    def _note_stray(self, kind):
        """A signal's handler raised outside of the cell, or a descriptor of ours is gone."""
        self.late_interrupt |= kind is KeyboardInterrupt
        self.strays += 1
        if kind in FATAL or self.strays > MAX_STRAYS:
            self._give_up()

    def _give_up(self):
        """The code has taken the control descriptor away.  No exit status of ours may look like one
        of the user's, so this process waits for the supervisor to see and to kill it."""
        try:
            os.close(self.control)
        except OSError:
            pass
        while True:
            _sleep(3600)

    def _serve_frames(self):
        control, reader, handlers = self.control, self.reader, self.handlers
        while True:
            frame = reader.next()
            while frame is None:
                data = _read(control, READ)
                if not data:
                    _exit(0)  # the supervisor has no more use for this process
                reader.feed(data)
                frame = reader.next()
            header, content = frame
            if handlers[header["type"]](header, content):
                return  # this is another process now, with another control descriptor
            self.strays = 0

    def send(self, header, content=b""):
        """One frame, whole: the gate has to be shut."""
        self._write_all(frames.pack(header, content))

    def _write_all(self, data):
        sent = _write(self.control, data)
        if sent < len(data):
            rest = memoryview(data)
            while sent < len(data):
                sent += _write(self.control, rest[sent:])

    # ---- execute

    def _execute(self, header, content):
        cell = self.cell = Cell(header, content)
        self.late_interrupt = False
        self.streams.begin()
        self.displays.begin()
        self._restore_namespace()
        self._take(cell, gate.run(self._run, cell))
        if not cell.ended:
            gate.run(self._wind_up, cell)
        self._finish()

    def _run(self, cell):
        """All that may run code of the user's or take long."""
        if cell.stdin is not None:
            self.streams.give(cell.stdin)
        text = self.compiler.decode(cell.code)
        self._remember(cell, text)
        self.compiler.remember(text, cell.name)
        if cell.script is None:
            self._run_cell(cell, text)
        elif cell.script in NAMES:
            self._with_arguments(cell, lambda: self._run_cell(cell, text))
        else:
            self._with_arguments(cell, lambda: self._run_script(cell, text))
        self._wind_up(cell)

    def _take(self, cell, failure):
        """What a failed cell says.  After this nothing of ours keeps its objects alive."""
        if failure is None:
            return
        if cell.ended:
            self.late_interrupt = True  # a signal after the end hits nobody
            return
        interrupted = gate.run(cell.fail, *failure)
        if interrupted is not None:
            cell.fail_plainly(interrupted[0])

    def _wind_up(self, cell):
        if cell.program:
            self._end_program(cell)
        self.figures.capture(not cell.interrupted)
        self.displays.finish()
        self.streams.finish(not cell.interrupted)
        cell.ended = True

    def _run_cell(self, cell, text):
        program = self.compiler.compile(text, cell.name)
        result = self._run_program(program)
        if program.names_result:
            result = self.namespace.get("result")
        if result is not None:
            cell.kind, cell.output = values.encode(result)
            if cell.kind == "repr":
                self._show_value(result, cell.output)

    def _run_program(self, program):
        head, tail = program.head, program.tail
        namespace = self.namespace
        result = None
        if program.awaits:
            result = self.awaiter.run(program, namespace)
        else:
            if head is not None:
                eval(head, namespace)
            if tail is not None:
                result = eval(tail, namespace)
        # A tracer of the user's does not watch what follows, nor later cells.
        _set_trace(None)
        _set_profile(None)
        return result

    def _show_value(self, result, text):
        if not self.figures.is_open(result):
            parts = self.figures.bundle(result) or display.bundle(result, text)
            if display.is_rich(parts):
                self.displays.emit(parts)

    def _with_arguments(self, cell, run):
        argv, sys.argv = sys.argv, [cell.script, *cell.args]
        try:
            run()
        finally:
            sys.argv = argv

    def _run_script(self, cell, text):
        """As `python FILE ARGS` would, but in the one namespace."""
        program = self.compiler.compile_script(text, cell.name)
        folder = os.path.dirname(os.path.abspath(cell.script))
        sys.path.insert(0, folder)
        self.namespace["__file__"] = cell.script
        try:
            self._run_program(program)
        finally:
            self.namespace.pop("__file__", None)
            if folder in sys.path:
                sys.path.remove(folder)

    def _end_program(self, cell):
        """What the interpreter does at its end: waits for threads, runs exit functions."""
        for step in (_end_threads, _run_exit_functions):
            try:
                if step is _run_exit_functions or not cell.interrupted:
                    step()
            except BaseException:
                cell.fail(*_exc_info())

    def _finish(self):
        """Sends the one `done` of the running cell."""
        cell = self.cell
        if cell.status is None and not cell.ended:
            cell.fail_plainly(KeyboardInterrupt)
        if _getpid() != self.pid:
            self._leave_child(cell)
        code = cell.exit_code
        header = DONE % (
            cell.id,
            cell.status or "ok",
            "null" if code is None else code,
            cell.kind,
            _clock(_cpu) - cell.cpu,
            _usage(0).ru_maxrss << 10,
            len(cell.output),
            len(cell.error),
        )
        data = header.encode("ascii")
        data = _lengths(len(data), len(cell.output) + len(cell.error)) + data
        with self.sending:
            self.cell = None
            self._write_all(data + cell.output + cell.error)

    # ---- forked children

    def _after_fork(self):
        for fd in (self.control, *self.streams.private_fds()):
            try:
                os.close(fd)
            except OSError:
                pass
        self.control = -1
        faulthandler.enable(2)

    def _leave_child(self, cell):
        """A child that the code forked came out of the cell: it ends like a program."""
        if cell.error:
            os.write(2, cell.error + b"\n")
        _exit(cell.exit_code or 0 if cell.status == "exited" else int(cell.status == "error"))

    # ---- displays and results

    def _send_display(self, parts):
        if _getpid() != self.pid:
            return
        self.streams.flush()  # what was printed before comes before
        header = {"type": "display", "parts": [[mime, len(data)] for mime, data in parts]}
        content = b"".join(data for _, data in parts)
        with gate.Shut(), self.sending:
            cell = self.cell
            if cell is not None:
                header["id"] = cell.id
                self.send(header, content)

    def _save_result(self, name, value):
        """Keep a value under a name, for whoever runs this code: it is sent with the call."""
        if not isinstance(name, str):
            raise TypeError("the name of a result is a str, not %s" % type(name).__name__)
        if name not in self.results and len(self.results) >= MAX_RESULTS:
            raise ValueError("a session keeps %d results" % MAX_RESULTS)
        self._send_display([(RESULT, values.named(name, value))])
        self.results[name] = value

    # ---- questions: none of them runs user code, so the gate stays shut

    def _answer(self, question):
        """question(header, content) gives (name, items, fields) of the reply."""

        def handler(header, content):
            reply = {"type": "reply", "id": header["id"]}
            try:
                name, items, fields = question(header, content)
                content = self._as_list(items)
                reply.update(fields)
            except Exception as error:  # of a namespace that is broken beyond listing
                name, content = "error", values.describe(error).encode("utf-8", "backslashreplace")
                reply["status"] = "error"
            reply["parts"] = [[name, len(content)]]
            self.send(reply, content)

        return handler

    @staticmethod
    def _as_list(items):
        """JSON of as many as a part may hold."""
        texts = []
        left = MAX_REPLY - 2
        for item in items:
            text = values.to_json(item)
            left -= len(text) + 2
            if left < 0:
                break
            texts.append(text)
        return ("[%s]" % ", ".join(texts)).encode("ascii")

    def _remember(self, cell, text):
        history = self.history
        history.append({"cell": cell.number, "code": text[:HISTORY_CELL_CHARS]})
        self.history_chars += len(history[-1]["code"])
        while len(history) > self.history_cells or self.history_chars > HISTORY_CHARS:
            self.history_chars -= len(history.pop(0)["code"])

    def _history(self, _header, _content):
        """The last cells as far as they fit, oldest first."""
        count, left = 0, MAX_REPLY // 2
        for entry in reversed(self.history):
            left -= len(values.to_json(entry)) + 2
            if left < 0:
                break
            count += 1
        return "history", self.history[len(self.history) - count :], {}

    def _inspect(self, header, _content):
        return "names", names.listing(self.namespace, header.get("names") is True), {}

    def _complete(self, header, content):
        code = frames.split_parts(header, content).get("code", b"").decode("utf-8", "replace")
        cursor = header.get("cursor", len(code))
        if type(cursor) is not int or not 0 <= cursor <= len(code):
            cursor = len(code)
        matches, start = names.complete(self.namespace, code, cursor)
        return "matches", matches, {"start": start, "end": cursor}

    def _drain(self, _header, _content):
        consumed = gate.forget_pending() or self.late_interrupt
        self.late_interrupt = False
        self.send({"type": "drained", "consumed": consumed})
