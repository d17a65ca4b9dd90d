"""Running the program: on the stand-in library (double/), on a terminal, on an engine."""
import errno
import json
import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SANDCELL_BIN", str(TOP / "build/bin/sandcell"))
DOUBLE = os.environ.get("SANDCELL_DOUBLE", str(TOP / "build/tests/cli/double"))
HANG = 30  # seconds; nothing here takes one
STRICT = os.environ.get("SANDCELL_TEST_STRICT") == "1"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    """A skipped test has failed where everything is to be tested."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and STRICT:
        report.outcome = "failed"


def clean_environment(extra=None):
    """Ours, without what would change the answers."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("SANDCELL_", "DOCKER_", "CONTAINER_", "DOUBLE_"))}
    env.update(extra or {})
    return {k: str(v) for k, v in env.items()}


def wait_for(condition, what, seconds=HANG):
    """Polls until condition() is true and returns that value."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"gave up waiting for {what}")


class Program:
    """The program with one environment; `log` is what the stand-in was asked."""

    def __init__(self, env, log=None):
        self.env = env
        self.log_file = log

    def __call__(self, *args, stdin=b"", env=None, **keywords):
        return subprocess.run(
            [BINARY, *args], input=stdin, env={**self.env, **(env or {})},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HANG, **keywords)

    def start(self, *args, env=None, **keywords):
        return subprocess.Popen(
            [BINARY, *args], env={**self.env, **(env or {})}, **keywords)

    def events(self):
        if not self.log_file.exists():
            return []
        return [json.loads(line) for line in self.log_file.read_text().splitlines()]

    def event(self, name):
        """The only event of that name."""
        (found,) = [e for e in self.events() if e["event"] == name]
        return found

    def names(self):
        return [e["event"] for e in self.events()]


@pytest.fixture
def program():
    """For commands that need neither an engine nor the stand-in."""
    return Program(clean_environment())


@pytest.fixture
def double(tmp_path):
    log = tmp_path / "asked.jsonl"
    return Program(clean_environment({"LD_LIBRARY_PATH": DOUBLE, "DOUBLE_LOG": log}), log)


class Terminal:
    """A program on a pseudo-terminal of its own, its controlling one."""

    def __init__(self, args, env):
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(BINARY, [BINARY, *args], env)
        self.status = None

    def read(self, seconds=0.1):
        """Takes what there is; False once the other side is closed."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError as error:
            assert error.errno == errno.EIO
            return False
        self.output += data
        return bool(data)

    def press(self, keys):
        os.write(self.fd, keys)

    def read_until(self, text):
        deadline = time.monotonic() + HANG
        while text not in self.output:
            assert time.monotonic() < deadline and self.read(), f"{text} not in {self.output}"

    def wait(self):
        """Reads to the end; returns the exit code, as a shell would see it."""
        deadline = time.monotonic() + HANG
        while self.read() and time.monotonic() < deadline:
            pass
        _, status = os.waitpid(self.pid, 0)
        self.status = status
        return os.waitstatus_to_exitcode(status)

    def end(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def terminal():
    """terminal(program, args...) starts one; all are ended with the test."""
    started = []

    def start(program, *args, env=None):
        one = Terminal(args, {**program.env, **(env or {})})
        started.append(one)
        return one
    yield start
    for one in started:
        one.end()
