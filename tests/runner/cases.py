"""The handed cases, run against a kernel alone: what concerns the kernel of each expectation."""

import json
import os
import signal
import threading
import time
from pathlib import Path

from harness import Kernel, KernelDied

DATA = Path(__file__).resolve().parents[1] / "data/cases"
GRACE = 0.5

# Steps of other layers.
ELSEWHERE = {"execute_bytes", "execute_cli", "snapshot", "restore", "reset"}
KNOWN = {
    "step", "success", "stdout_equals", "stdout_contains", "stdout_contains_all", "stdout_not_contains",
    "stdout_endswith", "stdout_bytes", "stdout_min_bytes", "stderr_equals", "stderr_bytes",
    "output_equals", "error_contains", "error_contains_all", "error_equals", "images",
    "max_seconds", "output_max_bytes_config", "harness",
}  # fmt: skip


def load(groups):
    found = []
    for path in sorted(DATA.glob("*.jsonl")):
        if path.name[:2] in groups:
            found += [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
    return found


class Outcome:
    def __init__(self, success, result, error, seconds):
        self.success = success
        self.stdout = result.stdout if result else b""
        self.stderr = result.stderr if result else b""
        self.output = result.output if result else None
        self.kind = result.kind if result else "none"
        self.raw = result.raw_output if result else b""
        self.images = len(result.images) if result else 0
        self.error = error
        self.seconds = seconds


class Session:
    """A kernel and, when it dies, its successor."""

    def __init__(self, cwd):
        self.cwd = cwd
        self.kernel = Kernel(cwd=cwd)

    def close(self):
        self.kernel.close()

    def execute(self, code, timeout):
        begun = time.monotonic()
        fired = threading.Event()
        kernel = self.kernel

        def stop():
            fired.set()
            os.kill(kernel.pid, signal.SIGINT)
            time.sleep(GRACE)  # the grace that a supervisor gives
            if not finished.is_set():
                os.kill(kernel.pid, signal.SIGKILL)

        finished = threading.Event()
        timer = threading.Timer(timeout, stop)
        timer.start()
        try:
            result = kernel.execute(code)
            finished.set()
            if fired.is_set():
                kernel.drain_signals()
            success = result.status == "ok" or (result.status == "exited" and result.exit_code == 0)
            return Outcome(success, result, result.error, time.monotonic() - begun)
        except KernelDied as death:
            finished.set()
            kernel.close()
            self.kernel = Kernel(cwd=self.cwd)
            return Outcome(False, None, str(death), time.monotonic() - begun)
        finally:
            timer.cancel()
            timer.join()


def run(case, cwd):
    session = Session(cwd)
    try:
        outcomes = [_step(session, step, cwd) for step in case["steps"]]
        for expect in case["expect"]:
            outcome = outcomes[expect["step"]]
            if outcome is not None:
                _check(expect, outcome)
    finally:
        session.close()


def _step(session, step, cwd):
    if step["op"] == "execute_bytes":
        code = bytes.fromhex(step["hex"])
    elif step["op"] == "execute":
        code = step["code"].replace("/workspace", cwd).encode("utf-8")
    else:
        assert step["op"] in ELSEWHERE, step
        return None
    return session.execute(code, step.get("timeout_s", 30))


def _check(expect, outcome):
    unknown = set(expect) - KNOWN
    assert not unknown, unknown
    stdout = outcome.stdout.decode("utf-8", "replace")
    texts = (outcome.error, stdout[-500:], outcome.stderr[-500:])
    if "success" in expect:
        assert outcome.success is expect["success"], texts
    if "stdout_equals" in expect:
        assert stdout == expect["stdout_equals"], texts
    for text in _all(expect, "stdout_contains"):
        assert text in stdout, texts
    if "stdout_not_contains" in expect:
        assert expect["stdout_not_contains"] not in stdout
    if "stdout_endswith" in expect:
        assert stdout.endswith(expect["stdout_endswith"])
    if "stdout_bytes" in expect:
        assert len(outcome.stdout) == expect["stdout_bytes"]
    if "stdout_min_bytes" in expect:
        assert len(outcome.stdout) >= expect["stdout_min_bytes"]
    if "stderr_equals" in expect:
        assert outcome.stderr.decode() == expect["stderr_equals"]
    if "stderr_bytes" in expect:
        assert len(outcome.stderr) == expect["stderr_bytes"]
    if "output_equals" in expect:
        shown = outcome.raw.decode() if outcome.kind == "repr" else repr(outcome.output)
        assert shown == expect["output_equals"]
    for text in _all(expect, "error_contains"):
        assert text in outcome.error, texts
    if "error_equals" in expect:
        assert outcome.error == expect["error_equals"]
    if "images" in expect:
        assert outcome.images == expect["images"], texts
    if "max_seconds" in expect:
        assert outcome.seconds <= 4 * expect["max_seconds"], outcome.seconds
    if "output_max_bytes_config" in expect:
        assert len(outcome.raw) <= 1 << 20


def _all(expect, name):
    found = list(expect.get(name + "_all", ()))
    return found + [expect[name]] if name in expect else found
