"""The kernel's part in snapshots and restores: its state goes out from a fork of it, and comes into
a kernel that is fresh."""

import _socket
import array
import builtins
import json
import os
import sys
import threading
import time

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

NOT_SAVED = {
    "__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__name__", "__package__", "__spec__",
}  # fmt: skip
STACK = 256 << 20  # for nested data; touched only as far as it is needed
RECURSION = 50_000
MAX_FDS = 4
VERSION = "%d.%d.%d" % sys.version_info[:3]

_fork, _exit, _waitpid, _setsid = os.fork, os._exit, os.waitpid, os.setsid
_sleep = time.sleep


def take_fds(control, count):
    """Descriptors that come with one byte on the control socket."""
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, control)
    try:
        _data, messages, _flags, _address = sock.recvmsg(1, _socket.CMSG_SPACE(4 * MAX_FDS))
    finally:
        sock.detach()
    fds = array.array("i")
    for level, kind, data in messages:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % 4])
    if len(fds) != count:
        raise OSError("descriptors are missing")
    return list(fds)


def fork_away():
    """Forks twice, so that PID 1 becomes the parent: None in the new process, its pid in the old one,
    where it then leads a session of its own already."""
    reading, writing = os.pipe()
    middle = _fork()
    if middle == 0:
        os.close(reading)
        middle = os.getpid()
        try:
            if _fork():
                _exit(0)
        except OSError:
            _exit(1)
        _setsid()
        while os.getppid() == middle:
            _sleep(0.0001)  # until that has ended and PID 1 is the parent
        os.write(writing, b"%d" % os.getpid())
        os.close(writing)
        return None
    os.close(writing)
    text = os.read(reading, 32)
    os.close(reading)
    try:
        _waitpid(middle, 0)
    except ChildProcessError:
        pass  # the code ignores SIGCHLD
    if not text:
        raise OSError("no process can be started in the container")
    return int(text)


def other_threads():
    """Names of the threads of the code's that run."""
    main = threading.main_thread()
    return [thread.name[:100] for thread in threading.enumerate() if thread is not main][:100]


def random_states():
    """Of the generators that are loaded."""
    found = {}
    for name, getter in (("random", "getstate"), ("numpy.random", "get_state")):
        if name in sys.modules:
            try:
                found[name] = getattr(sys.modules[name], getter)()
            except Exception:
                pass  # the code has put something else there
    return found


def set_random_states(states):
    for name, setter in (("random", "setstate"), ("numpy.random", "set_state")):
        if name in states:
            try:
                __import__(name)
                getattr(sys.modules[name], setter)(states[name])
            except Exception:
                pass


class Persist:
    def __init__(self, kernel):
        self.kernel = kernel
        self.environ = dict(os.environ)

    # ---- saving

    def snapshot(self, header, _content):
        """Answers `ready`, is given [control, stream, stderr], and answers `reply` with the fork's pid."""
        kernel = self.kernel
        number = header["id"]
        kernel.send({"type": "ready", "id": number})
        fds = take_fds(kernel.control, 3)
        auxiliary = self._auxiliary()
        reply = {"type": "reply", "id": number, "pid": 0}
        try:
            if header.get("inline") is not True:
                pid = fork_away()
                if pid is None:
                    self._leave(fds)
                    self._save_in_thread(header, fds, auxiliary)
                    _exit(0)
                reply["pid"] = pid
            else:
                self._save_inline(header, fds, auxiliary)
        except OSError as error:
            reply["status"] = "error"
            reply["reason"] = str(error)
        finally:
            for fd in fds:
                os.close(fd)
        kernel.send(reply)

    def _leave(self, fds):
        """In the fork: no descriptor of the kernel's is left to it."""
        null = os.open("/dev/null", os.O_RDWR)
        for fd, target in ((null, 0), (fds[2], 1), (fds[2], 2)):
            os.dup2(fd, target)
        os.close(null)

    def _save_in_thread(self, header, fds, auxiliary):
        """With a stack for data that is nested deeply."""
        limit = sys.getrecursionlimit()
        threading.stack_size(STACK)
        sys.setrecursionlimit(max(limit, RECURSION))
        worker = threading.Thread(target=self._save, args=(header, fds, auxiliary))
        try:
            worker.start()
        except RuntimeError:  # no room for such a stack
            sys.setrecursionlimit(limit)
            self._save(header, fds, auxiliary)
        else:
            worker.join()

    def _save_inline(self, header, fds, auxiliary):
        """The code's objects are asked with signals let through.  When one stops it, the end of the
        stream without a `done` tells."""
        from _sandcell import gate

        def stop(error):
            return isinstance(error, KeyboardInterrupt)

        gate.run(self._save, header, fds, auxiliary, stop)

    def _save(self, header, fds, auxiliary, stop=lambda _error: False):
        from _sandcell import frames, state

        control = fds[0]

        def send(frame, content=b""):
            data = memoryview(frames.pack(frame, content))
            while data:
                data = data[os.write(control, data) :]

        sink = state.Sink(fds[1])
        saver = state.Saver(sink, self.kernel.namespace, lambda name: send({"type": "at", "name": name[:200]}), stop)
        exclude = set(header.get("exclude") or ())
        values = [
            (name, value)
            for name, value in list(self.kernel.namespace.items())
            if type(name) is str and name not in NOT_SAVED and name not in exclude
        ]
        report = {"cell": header.get("cell", 0), **self._about(values), "excluded": sorted(exclude)}
        report["threads"] = auxiliary["threads"]
        saver.save(self._setup(), values, self._extras(auxiliary), report)
        os.close(fds[1])
        fds.pop(1)
        content = json.dumps(report).encode("ascii")
        done = {"type": "done", "bytes": sink.bytes, "sha256": sink.hash.hexdigest()}
        send({**done, "parts": [["report", len(content)]]}, content)

    def _setup(self):
        try:
            cwd = os.getcwd()
        except OSError:
            cwd = None
        now = dict(os.environ)
        return {
            "python": VERSION,
            "cwd": cwd,
            "path": [entry for entry in sys.path if type(entry) is str],
            "set": {name: value for name, value in now.items() if self.environ.get(name) != value},
            "unset": [name for name in self.environ if name not in now],
            "history": self.kernel.history,
            "futures": self.kernel.compiler.futures,
        }

    @staticmethod
    def _about(values):
        modules = {}
        for _, value in values:
            module = sys.modules.get(type(value).__module__.partition(".")[0])
            for found in (value, module):
                version = getattr(found, "__version__", None) if type(found) is type(sys) else None
                if type(version) is str:
                    modules[found.__name__.partition(".")[0]] = version[:100]
        return {
            "python": VERSION,
            "implementation": sys.implementation.name,
            "modules": modules,
        }

    @staticmethod
    def _auxiliary():
        """What a fork changes: the state of the random generators, and the threads."""
        return {"random": random_states(), "threads": other_threads()}

    def _extras(self, auxiliary):
        yield "random", auxiliary["random"]
        yield "sources", self.kernel.compiler.sources()
        for name, value in self.kernel.results.items():
            yield "results/" + name, value

    # ---- loading

    def restore(self):
        """In a fresh kernel: loads a state from stdin and answers `restored`."""
        from _sandcell import frames, state

        kernel = self.kernel
        stream = kernel.streams.claim_stdin()
        records = state.Records(stream)
        loader = state.Loader(records, kernel.namespace)
        frame, report = {"type": "restored", "status": "ok"}, {}
        try:
            setup = loader.load(self._prepare)
            self._take(setup, loader)
            report = self._restored(loader)
            frame["cell"] = report["cell"]
        except BaseException as error:
            frame["status"] = "error"
            report = {"reason": state.reason_of(error)}
        os.close(stream)
        frame.update(bytes=records.source.bytes, sha256=records.source.hash.hexdigest())
        content = json.dumps(report).encode("ascii")
        frame["parts"] = [["report", len(content)]]
        if len(content) > frames.MAX_CONTENT:
            frame["parts"], content = [], b""
        kernel.send(frame, content)

    def _prepare(self, setup):
        self.warnings = []
        for name, value in (setup.get("set") or {}).items():
            os.environ[name] = value
        for name in setup.get("unset") or ():
            os.environ.pop(name, None)
        if setup.get("path"):
            sys.path[:] = setup["path"]
        try:
            if setup.get("cwd"):
                os.chdir(setup["cwd"])
        except OSError as error:
            self.warnings.append("the working directory '%s': %s" % (setup["cwd"], error.strerror))

    def _take(self, setup, loader):
        kernel = self.kernel
        kernel.compiler.restore(setup.get("futures", 0), loader.extras.get("sources") or [])
        for entry in setup.get("history") or ():
            kernel.history.append(entry)
            kernel.history_chars += len(entry["code"])
        for name, value in loader.extras.items():
            if name.startswith("results/"):
                kernel.results[name.partition("/")[2]] = value
        set_random_states(loader.extras.get("random") or {})

    def _restored(self, loader):
        saved = loader.report
        return {
            "names": loader.names,
            "skipped": loader.skipped,
            "missing": [
                {"name": entry["name"], "reason": entry["reason"]} for entry in saved.get("skipped", ())
            ],
            "warnings": self.warnings,
            "cell": saved.get("cell", 0),
        }
