"""Runs forms with src/runner/cli.py on this host, without a container."""

import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import time

from _sandcell import frames
from judge import judge

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parents[2] / "src" / "runner"
HANG = 60


class Outcome:
    def __init__(self, header, error, stdout, stderr):
        self.code = header["exit_code"]
        self.stages = header["stages"]
        self.landlock = header["landlock"]
        self.reusable = header["reusable"]
        self.error = error
        self.stdout = stdout
        self.stderr = stderr

    def __repr__(self):
        return "<code %r stages %r error %r stdout %.500r stderr %.500r>" % (
            self.code, self.stages, self.error, self.stdout, self.stderr,
        )  # fmt: skip


class Leader:
    """One running command line."""

    def __init__(self, form, cwd, env, scratch):
        self.control, peer = socket.socketpair()
        command = [sys.executable, "-I", "-S", str(HERE / "leader.py"), str(SOURCES), str(peer.fileno()), str(scratch)]
        self.process = subprocess.Popen(
            command, cwd=cwd, env=env, pass_fds=[peer.fileno()],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        peer.close()
        content = json.dumps(form).encode()
        self.control.sendall(frames.pack({"type": "cli", "id": 7, "parts": [["form", len(content)]]}, content))
        self.control.shutdown(socket.SHUT_WR)  # the only command line of this leader

    def kill(self):
        """As the supervisor ends one: the whole process session at once."""
        for name in os.listdir("/proc"):
            if name.isdigit() and session_of(int(name)) == self.process.pid:
                try:
                    os.kill(int(name), signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def wait(self):
        stdout, stderr = self.process.communicate(timeout=HANG)
        reader = frames.Reader(frames.MAX_CONTENT)
        while True:
            data = self.control.recv(65536)
            if not data:
                break
            reader.feed(data)
        self.control.close()
        frame = reader.next()
        assert frame, "no answer; exit %r, stderr %r" % (self.process.returncode, stderr)
        header, content = frame
        assert header["type"] == "done" and header["id"] == 7
        return Outcome(header, frames.split_parts(header, content)["error"].decode(), stdout, stderr)


def session_of(pid):
    try:
        return os.getsid(pid)
    except OSError:
        return None


def wait_for(condition, what):
    deadline = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < deadline, "waited in vain: " + what
        select.select([], [], [], 0.005)


class Runner:
    """In one folder, with one set of variables."""

    def __init__(self, cwd, scratch, env=None):
        self.cwd = cwd
        self.scratch = scratch
        self.env = {"HOME": "/root", "USER": "root", "LANG": "C.UTF-8", **(env or {})}

    def start(self, command, flags=0):
        return Leader(judge.form(command, flags), self.cwd, self.env, self.scratch)

    def run(self, command, flags=0):
        return self.start(command, flags).wait()
