"""The process that runs the user's code: one namespace, one cell after another.

The supervisor's frames come over a private socket; what the code prints goes through its own pipes.
Everything that answers a frame is bound when this module is imported, before any user code runs:
user code may replace or break whatever it can reach, and its own result is all that suffers.
"""

import builtins
import os
import resource
import sys
import time
import types

from _sandcell import awaiting, display, figures, frames, gate, names, report, source, streams, value

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

READ = 65536  # larger reads go through mmap: 50 us more for each request
MAX_FRAME = frames.MAX_CONTENT + frames.MAX_PAYLOAD
HISTORY_CELLS = 1000
HISTORY_CHARS = 4 << 20
MAX_RESULTS = 1000
MAX_STRAYS = 1000

_read, _write, _getpid, _exit = os.read, os.write, os.getpid, os._exit
_cpu_clock = time.CLOCK_PROCESS_CPUTIME_ID
_clock = time.clock_gettime_ns
_sleep = time.sleep
_usage = resource.getrusage
_exc_info = sys.exc_info
_get_trace, _get_profile = sys.gettrace, sys.getprofile
_set_trace, _set_profile = sys.settrace, sys.setprofile


def main(control, config):
    """Serves the supervisor's frames on control until it closes them; never returns."""
    kernel = Kernel(control, config)
    kernel.serve()


class Cell:
    """One execute call."""

    def __init__(self, header, content):
        parts = frames.split_parts(header, content)
        self.id = header["id"]
        self.number = header.get("cell", 0)
        self.code = parts.get("code", b"")
        self.stdin = parts.get("stdin")
        self.script = header.get("script")
        self.args = header.get("args") or []
        self.name = self.script or "<cell %d>" % self.number
        self.status = None
        self.exit_code = None
        self.kind = "none"
        self.output = b""
        self.error = b""
        self.cpu = _clock(_cpu_clock)

    def fail(self, kind, error, tb):
        """Takes what the code raised.  May run user code (`__str__`)."""
        self.kind, self.output = "none", b""
        self.status = "error"
        if issubclass(kind, SystemExit):
            self.exit_code, text = report.exit_code(error)
            self.error = report.clip(text)
            self.status = "exited"
        else:
            self.error = report.text(kind, error, tb, self.name)


class Kernel:
    def __init__(self, control, config):
        self.pid = _getpid()
        self.control = streams.move_high(control)
        os.close(control)
        self.reader = frames.Reader(MAX_FRAME)
        self.streams = streams.Streams()
        self.streams.attach()
        self.compiler = source.Compiler()
        self.awaiter = awaiting.Awaiter()
        self.displays = display.Displays(self._send_display)
        self.figures = self.displays.figures = figures.Figures(self.displays)
        self.sending = gate.threading.Lock()
        self.cell = None
        self.strays = 0
        self.traced = None
        self.history = []
        self.history_chars = 0
        self.results = {}
        self.history_cells = config.get("history_cells", HISTORY_CELLS)
        self.handlers = {
            "execute": self._execute,
            "inspect": self._inspect,
            "complete": self._complete,
            "history": self._history,
            "drain": self._drain,
        }
        self._make_namespace(config)
        os.register_at_fork(before=self._before_fork, after_in_child=self._after_fork)

    def _make_namespace(self, config):
        self.module = types.ModuleType("__main__")
        self.namespace = self.module.__dict__
        self.namespace["__builtins__"] = builtins
        sys.modules["__main__"] = self.module
        sys.argv = [""]
        if sys.path[:1] != [""]:
            sys.path.insert(0, "")
        if config.get("cwd"):
            os.chdir(config["cwd"])
        builtins.display = self.displays.display
        builtins.save_result = self._save_result
        self.figures.install()

    # ---- frames

    def serve(self):
        while True:
            try:
                if self.cell is not None:
                    self._finish()  # a signal's handler raised where it should not
                self._serve_frames()
            except BaseException:
                self.strays += 1
                if self.strays > MAX_STRAYS:
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
            handler = handlers.get(header["type"])
            if handler is None:
                self._give_up()
            handler(header, content)
            self.strays = 0

    def send(self, header, content=b""):
        """One frame, whole: the gate has to be shut."""
        data = frames.pack(header, content)
        sent = _write(self.control, data)
        if sent < len(data):
            rest = memoryview(data)
            while sent < len(data):
                sent += _write(self.control, rest[sent:])

    def _reply(self, header, **parts):
        """parts: name -> object, sent as JSON."""
        import json

        texts = [(name, json.dumps(item).encode("ascii")) for name, item in parts.items()]
        header["parts"] = [[name, len(text)] for name, text in texts]
        self.send(header, b"".join(text for _, text in texts))

    # ---- execute

    def _execute(self, header, content):
        cell = self.cell = Cell(header, content)
        self.streams.begin(cell.stdin)
        self.displays.begin()
        self.namespace.setdefault("__builtins__", builtins)
        try:
            gate.open_gate()
            self._run(cell)
        except BaseException:
            cell.fail(*_exc_info())
        self._finish()

    def _run(self, cell):
        """With the gate open: all that may run code of the user's or take long."""
        try:
            text = self.compiler.decode(cell.code)
            self._remember(cell, text)
            self.compiler.remember(text, cell.name)
            if cell.script is not None:
                self._run_script(cell, text)
            else:
                self._run_cell(cell, text)
        except BaseException:
            self._stop_tracing()
            cell.fail(*_exc_info())
        self.figures.capture(b"KeyboardInterrupt" not in cell.error[-300:])
        self.displays.finish()
        self.streams.finish()

    def _run_cell(self, cell, text):
        program = self.compiler.compile(text, cell.name)
        namespace = self.namespace
        head, tail = program.head, program.tail
        result = None
        if self.traced:
            self._resume_tracing()
        if self._awaits(head) or self._awaits(tail):
            result = self.awaiter.run(program, namespace)
        else:
            if head is not None:
                eval(head, namespace)
            if tail is not None:
                result = eval(tail, namespace)
        if _get_trace() or _get_profile():
            self._stop_tracing()
        if program.names_result:
            result = namespace.get("result")
        if result is not None:
            cell.kind, cell.output = value.encode(result)
            if cell.kind == "repr":
                self._show_value(result, cell.output)

    @staticmethod
    def _awaits(code):
        return code is not None and code.co_flags & source.COROUTINE

    def _show_value(self, result, text):
        if not self.figures.is_open(result):
            parts = self.figures.bundle(result) or display.bundle(result, text)
            if display.is_rich(parts):
                self.displays.emit(parts)

    def _run_script(self, cell, text):
        """As `python FILE ARGS` would, but in the one namespace."""
        program = self.compiler.compile_script(text, cell.name)
        saved_argv, saved_path = sys.argv, sys.path[0] if sys.path else None
        folder = os.path.dirname(os.path.abspath(cell.script))
        sys.argv = [cell.script, *cell.args]
        if saved_path == "":
            sys.path[0] = folder
        self.namespace["__file__"] = cell.script
        try:
            if self._awaits(program.head):
                self.awaiter.run(program, self.namespace)
            else:
                eval(program.head, self.namespace)
        finally:
            self._stop_tracing()
            self.namespace.pop("__file__", None)
            sys.argv = saved_argv
            if saved_path == "" and sys.path[:1] == [folder]:
                sys.path[0] = ""

    def _finish(self):
        """Sends the one `done` of the running cell."""
        gate.shut_gate()
        cell = self.cell
        if _getpid() != self.pid:
            self._leave_child(cell)
        if cell.status is None:
            cell.status = "ok"
        header = {
            "type": "done",
            "id": cell.id,
            "status": cell.status,
            "exit_code": cell.exit_code,
            "output_kind": cell.kind,
            "cpu_ns": _clock(_cpu_clock) - cell.cpu,
            "peak_bytes": _usage(0).ru_maxrss << 10,
        }
        content = b""
        if cell.output or cell.error:
            header["parts"] = [["output", len(cell.output)], ["error", len(cell.error)]]
            content = cell.output + cell.error
        with self.sending:
            self.cell = None
            self.send(header, content)

    # ---- tracing: a debugger or a coverage tool of the user's watches the user's code only

    def _stop_tracing(self):
        self.traced = (_get_trace(), _get_profile())
        _set_trace(None)
        _set_profile(None)
        if self.traced == (None, None):
            self.traced = None

    def _resume_tracing(self):
        trace, profile = self.traced
        self.traced = None
        _set_profile(profile)
        _set_trace(trace)

    # ---- forked children

    def _before_fork(self):
        self.streams.flush()  # else the child writes the same text again

    def _after_fork(self):
        for fd in (self.control, *self.streams.private_fds()):
            try:
                os.close(fd)
            except OSError:
                pass
        self.control = -1

    def _leave_child(self, cell):
        """A child that the code forked came out of the cell: it ends like a program."""
        if cell.error:
            os.write(2, cell.error + b"\n")
        code = cell.exit_code if cell.status == "exited" else int(cell.status == "error")
        _exit(code or 0)

    # ---- displays and results

    def _send_display(self, parts):
        if _getpid() != self.pid:
            return
        self.streams.flush()  # what was printed before comes before
        header = {"type": "display", "parts": [[mime, len(data)] for mime, data in parts]}
        content = b"".join(data for _, data in parts)
        with gate.Closed(), self.sending:
            cell = self.cell
            if cell is not None:
                header["id"] = cell.id
                self.send(header, content)

    def _save_result(self, name, value):
        """Keep a value under a name, for whoever runs this code."""
        if not isinstance(name, str):
            raise TypeError("the name of a result is a str, not %s" % type(name).__name__)
        if name not in self.results and len(self.results) >= MAX_RESULTS:
            raise ValueError("a session keeps %d results" % MAX_RESULTS)
        self.results[name] = value

    # ---- questions

    def _remember(self, cell, text):
        self.history.append({"cell": cell.number, "code": text})
        self.history_chars += len(text)
        while self.history and (
            len(self.history) > self.history_cells or self.history_chars > HISTORY_CHARS
        ):
            self.history_chars -= len(self.history.pop(0)["code"])

    def _history(self, header, _content):
        self._reply({"type": "reply", "id": header["id"]}, history=self.history)

    def _inspect(self, header, _content):
        listing = names.listing(self.namespace, header.get("names") is True)
        self._reply({"type": "reply", "id": header["id"]}, names=listing)

    def _complete(self, header, content):
        code = frames.split_parts(header, content).get("code", b"").decode("utf-8", "replace")
        cursor = header.get("cursor", len(code))
        matches, start = names.complete(self.namespace, code, cursor)
        self._reply({"type": "reply", "id": header["id"], "start": start}, matches=matches)

    def _drain(self, _header, _content):
        self.send({"type": "drained", "consumed": gate.forget_pending()})
