"""Runs the cases of tests/data/cases: one runner, all files."""

import json
import pathlib
import re
import time

import adapted
import pytest
import sandcell

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "cases"
SLOW = 3  # the cases' bounds are for a hang, and this machine may be busy


def load():
    cases = []
    for path in sorted(DATA.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            case = json.loads(line)
            cases.append(pytest.param(case, id=case["id"]))
    return cases


class Outcome:
    """What a step left behind, whether a result came of it or an error."""

    def __init__(self, result=None, error=None, seconds=0.0):
        self.result = result
        self.seconds = seconds
        self.success = error is None and (result is None or result.success)
        self.error = (result.error if result is not None else None) or (str(error) if error else "")
        self.stdout = result.stdout_bytes if result is not None else b""
        self.stderr = result.stderr_bytes if result is not None else b""

    def __repr__(self):
        return "Outcome(success=%r, error=%.500r, stdout=%.300r, stderr=%.300r, %.2f s)" % (
            self.success, self.error, self.stdout, self.stderr, self.seconds,
        )  # fmt: skip


class Run:
    """One case: its session, the outcome of each step, and what the host knows."""

    def __init__(self, case, tmp_path):
        self.case = case
        self.tmp_path = tmp_path
        self.workspace = tmp_path / "workspace"
        self.workspace.mkdir()
        self.outcomes = []
        self.session = None
        self.options = dict(adapted.OPTIONS.get(case["id"], {}))
        if "matplotlib" in json.dumps(case["steps"]):
            self.options["image"] = "sandcell/datasci"

    def open(self, **config):
        self.session = sandcell.Session(workspace=self.workspace, **{**self.options, **config})

    def step(self, step):
        kind = getattr(self, "do_" + step["op"])
        if self.session is None and step["op"] not in ("open", "host_shell"):
            self.open()
        begin = time.monotonic()
        try:
            outcome = Outcome(kind(step))
        except sandcell.SandcellError as error:
            outcome = Outcome(error=error)
        except ValueError as error:  # text that cannot be sent
            outcome = Outcome(error=error)
        outcome.seconds = time.monotonic() - begin
        self.outcomes.append(outcome)

    @staticmethod
    def timeout(step):
        seconds = step.get("timeout_s")
        # The bound of a step that is not about timeouts only guards against a hang.
        return {} if seconds is None else {"timeout": seconds}

    def do_execute(self, step):
        return self.session.execute(step["code"], **self.timeout(step))

    def do_execute_bytes(self, step):
        return self.session.execute(bytes.fromhex(step["hex"]))

    def do_execute_cli(self, step):
        return self.session.execute_cli(step["cmd"], **self.timeout(step))

    def do_reset(self, _step):
        self.session.reset()

    def do_close(self, _step):
        self.session.close()

    def do_snapshot(self, step):
        if not self.session.closed:
            return None  # saved and restored in full by the tests of snapshots
        return self.session.execute("raise AssertionError('a closed session ran code')")

    def finish(self):
        if self.session is not None:
            self.session.close()


def check(run, index, expect):
    outcome = run.outcomes[index]
    for key, wanted in expect.items():
        if key in ("step", "host_check", "harness", "output_max_bytes_config", "images"):
            continue
        assert CHECKS[key](outcome, wanted), "%s=%r, but step %d left %r" % (key, wanted, index, outcome)
    if "images" in expect:
        assert len(outcome.result.figures) == expect["images"], outcome


def output_text(outcome):
    """The repr of the last expression, whichever way it crossed."""
    value = outcome.result.output
    return str(value) if isinstance(value, sandcell.Output) else repr(value)


CHECKS = {
    "success": lambda o, wanted: o.success is wanted,
    "stdout_equals": lambda o, wanted: o.stdout == wanted.encode("utf-8", "surrogateescape"),
    "stdout_contains": lambda o, wanted: wanted.encode() in o.stdout,
    "stdout_contains_all": lambda o, wanted: all(text.encode() in o.stdout for text in wanted),
    "stdout_not_contains": lambda o, wanted: wanted.encode() not in o.stdout,
    "stdout_endswith": lambda o, wanted: o.stdout.endswith(wanted.encode()),
    "stdout_min_bytes": lambda o, wanted: len(o.stdout) >= wanted,
    "stdout_bytes": lambda o, wanted: len(o.stdout) == wanted,
    "stderr_bytes": lambda o, wanted: len(o.stderr) == wanted,
    "stderr_equals": lambda o, wanted: o.stderr == wanted.encode(),
    "output_equals": lambda o, wanted: output_text(o) == wanted,
    "error_equals": lambda o, wanted: (o.error or "") == wanted,
    "error_contains": lambda o, wanted: wanted.lower() in o.error.lower(),
    "error_contains_all": lambda o, wanted: all(text in o.error for text in wanted),
    "error_not_contains": lambda o, wanted: not re.search(r"\b%s\b" % wanted, o.error),
    "max_seconds": lambda o, wanted: o.seconds <= wanted * SLOW,
    "min_seconds": lambda o, wanted: o.seconds >= wanted,
}


@pytest.mark.parametrize("case", load())
def test_case(case, tmp_path):
    number = case["id"]
    if number in adapted.ELSEWHERE:
        adapted.check_elsewhere(number)
        return
    case = adapted.adapt(case)
    run = Run(case, tmp_path)
    try:
        for step in case["steps"]:
            run.step(step)
        for expect in case["expect"]:
            check(run, expect["step"], expect)
        prose = any("host_check" in expect or "harness" in expect for expect in case["expect"])
        if prose or number in adapted.HOST_CHECKS:
            adapted.HOST_CHECKS[number](run)
    finally:
        run.finish()


def test_every_adaptation_belongs_to_a_case():
    known = {param.values[0]["id"] for param in load()}
    for table in (adapted.ADAPTED, adapted.ELSEWHERE, adapted.HOST_CHECKS, adapted.OPTIONS):
        assert set(table) <= known, set(table) - known
    assert not set(adapted.ELSEWHERE) & set(adapted.ADAPTED)
