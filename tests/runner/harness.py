"""A kernel without a container: forked here, with pipes for its output, driven as the supervisor does."""

import array
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from pathlib import Path

import forker

HERE = Path(__file__).resolve().parent
RUNNER = os.environ.get("SANDCELL_RUNNER", str(HERE.parents[1] / "src/runner"))
# The interpreter of the kernels: SANDCELL_TEST_PYTHON runs all of this with another version.
PYTHON = os.environ.get("SANDCELL_TEST_PYTHON", sys.executable)
VERSION = tuple(
    json.loads(
        subprocess.check_output(
            [PYTHON, "-I", "-S", "-c", "import sys; print(list(sys.version_info[:2]))"]
        )
    )
)
HANG = 60  # seconds: only a hang takes so long

forker.install(RUNNER)

from _sandcell import frames  # noqa: E402


_syscall = ctypes.CDLL(None, use_errno=True).syscall
_TGKILL = 234 if os.uname().machine == "x86_64" else 131


def tgkill(pid):
    assert _syscall(_TGKILL, pid, pid, int(signal.SIGINT)) == 0


class Forker:
    """One for all kernels, started with the first of them."""

    link = None

    @classmethod
    def ask(cls, request, fds=()):
        if cls.link is None:
            cls.link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            number = theirs.fileno()
            command = [PYTHON, "-I", str(HERE / "forker.py"), RUNNER, str(number)]
            subprocess.Popen(command, pass_fds=[number])
            theirs.close()
        socket.send_fds(cls.link, [json.dumps(request).encode()], list(fds))
        return json.loads(cls.link.recv(65536))


class KernelDied(Exception):
    def __init__(self, status):
        super().__init__("the kernel ended with wait status %r" % status)
        self.status = status


class Result:
    def __init__(self, done, parts, stdout, stderr, displays):
        self.done = done
        self.status = done["status"]
        self.kind = done["output_kind"]
        self.exit_code = done["exit_code"]
        self.raw_output = parts.get("output", b"")
        self.error = parts.get("error", b"").decode("utf-8")
        self.stdout = stdout
        self.stderr = stderr
        self.displays = displays

    @property
    def output(self):
        if self.kind == "none":
            return None
        if self.kind == "json":
            return json.loads(self.raw_output.decode("ascii"))
        return self.raw_output.decode("utf-8")

    @property
    def images(self):
        return [parts["image/png"] for parts in self.displays if "image/png" in parts]

    def __repr__(self):
        return "<%s output=%.200r error=%.1000r stdout=%.300r stderr=%.1000r>" % (
            self.status, self.raw_output, self.error, self.stdout, self.stderr,
        )  # fmt: skip


class Kernel:
    """with Kernel() as kernel: kernel.execute("1").output"""

    def __init__(self, cwd=None, before=""):
        """before: code that the new process runs before it is a kernel."""
        self.cell = 0
        self.next_id = 100
        self.reaped = None
        self.stdout, self.stderr, self.displays = b"", b"", []
        self.reader = frames.Reader(frames.MAX_CONTENT + frames.MAX_PAYLOAD)
        self.control, peer = socket.socketpair()
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        request = {"cwd": cwd or os.getcwd(), "before": before}
        self.pid = Forker.ask(request, [peer.fileno(), out, err])
        peer.close()
        os.close(out)
        os.close(err)
        os.set_blocking(self.out, False)
        os.set_blocking(self.err, False)

    # ---- what the supervisor does

    def send(self, header, content=b""):
        self.control.sendall(frames.pack(header, content))

    def send_parts(self, header, parts):
        header["parts"] = [[name, len(data)] for name, data in parts.items()]
        self.send(header, b"".join(parts.values()))

    def start(self, code, stdin=None, **fields):
        """Sends an execute and returns its id."""
        self.cell += 1
        self.next_id += 1
        self.stdout, self.stderr, self.displays = b"", b"", []
        parts = {"code": code if isinstance(code, bytes) else code.encode()}
        if stdin is not None:
            parts["stdin"] = stdin
        self.send_parts({"type": "execute", "id": self.next_id, "cell": self.cell, **fields}, parts)
        return self.next_id

    def execute(self, code, stdin=None, **fields):
        return self.wait(self.start(code, stdin, **fields))

    def ask(self, kind, parts=None, **fields):
        self.next_id += 1
        self.send_parts({"type": kind, "id": self.next_id, **fields}, parts or {})
        header, content = self.frame()
        assert header["type"] == "reply" and header["id"] == self.next_id, header
        found = frames.split_parts(header, content)
        return {name: json.loads(data) for name, data in found.items()}, header

    def wait(self, number):
        while True:
            header, content = self.frame()
            assert header["id"] == number, header
            parts = frames.split_parts(header, content)
            assert sum(map(len, parts.values())) == len(content)
            if header["type"] == "display":
                self.displays.append(parts)
                continue
            assert header["type"] == "done", header
            self.drain()
            return Result(header, parts, self.stdout, self.stderr, self.displays)

    def interrupt(self):
        """To the main thread, so that no thread of the user's can take it."""
        tgkill(self.pid)

    def drain_signals(self):
        self.send({"type": "drain"})
        header, _ = self.frame()
        assert header["type"] == "drained", header
        return header["consumed"]

    def frame(self, seconds=HANG):
        """The next frame; takes output meanwhile.  Raises KernelDied."""
        deadline = time.monotonic() + seconds
        while True:
            found = self.reader.next()
            if found:
                return found
            self._poll(deadline)

    def _poll(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise AssertionError("the kernel hangs; stdout %r stderr %r" % (self.stdout, self.stderr))
        readable = select.select([self.control, self.out, self.err], [], [], left)[0]
        if self.out in readable:
            self.stdout += self._take(self.out)
        if self.err in readable:
            self.stderr += self._take(self.err)
        if self.control in readable:
            data = self.control.recv(65536)
            if not data:
                raise KernelDied(self.reap())
            self.reader.feed(data)

    @staticmethod
    def _take(fd):
        try:
            return os.read(fd, 65536)
        except BlockingIOError:
            return b""

    def drain(self):
        """What the pipes hold now, and no more."""
        self.stdout += self._drain(self.out)
        self.stderr += self._drain(self.err)

    @staticmethod
    def _drain(fd):
        count = array.array("i", [0])
        fcntl.ioctl(fd, termios.FIONREAD, count)
        data = b""
        while len(data) < count[0]:
            data += os.read(fd, min(65536, count[0] - len(data)))
        return data

    def wait_for_output(self, text, seconds=HANG):
        deadline = time.monotonic() + seconds
        while text not in self.stdout:
            self._poll(deadline)

    def reap(self, seconds=HANG):
        if self.reaped is None:
            deadline = time.monotonic() + seconds
            while True:
                self.reaped = Forker.ask({"wait": self.pid})
                if self.reaped is not None:
                    break
                if time.monotonic() > deadline:
                    raise AssertionError("the kernel does not end")
                time.sleep(0.001)
        self.drain()
        return self.reaped

    def close(self):
        self.control.close()
        if self.reaped is None:
            os.kill(self.pid, signal.SIGKILL)
            self.reap()
        for fd in (self.out, self.err):
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

