"""`sandcell doctor` on the stand-in library: what it makes of each answer."""
import json

import pytest

import schema

ENGINE = {
    "kind": "docker", "version": "20.10.24", "host": "unix:///x.sock", "source": "DOCKER_HOST",
    "api_version": "1.41", "runtime": "runc", "runtimes": ["crun", "runc"], "cgroup_version": 2,
    "rootless": False, "limits_work": True, "os": "Debian", "kernel": "6.1", "warnings": [],
    "architecture": "x86_64", "cpus": 2, "memory_bytes": 8 << 30}
LIMITS = {"memory_bytes": 2 << 30, "swap_bytes": 0, "pids": 256, "cpu_millis": None, "nofile": 1024}
SESSION = {"image": "sandcell/python", "python": "3.11.2", "user": "65534:65534",
           "limits": {"in_force": LIMITS}, "warnings": []}
FACTS = {"no capability": True, "seccomp": True}


def examine(double, *args, engine=None, session=None, facts=None, **env):
    """Exit code and findings by check; each finding is (status, message, advice)."""
    done = double("doctor", "--json", *args, env={
        "DOUBLE_DESCRIBE": json.dumps({**ENGINE, **(engine or {})}),
        "DOUBLE_SESSION": json.dumps({**SESSION, **(session or {})}),
        "DOUBLE_OUTPUT": json.dumps({**FACTS, **(facts or {})}), **env})
    assert done.stderr == b""
    found = {}
    for line in done.stdout.splitlines():
        entry = json.loads(line)
        schema.check(entry, schema.FINDING)
        found.setdefault(entry["check"], []).append(
            (entry["status"], entry["message"], entry["advice"]))
    return done.returncode, found


def test_good_engine_passes_every_check(double):
    code, found = examine(double)
    assert code == 0
    assert found == {
        "engine": [("ok", "docker 20.10.24 at unix:///x.sock, found by DOCKER_HOST, API 1.41", None)],
        "host": [("ok", "Debian, kernel 6.1, x86_64, 2 CPUs, 8.0 GiB", None)],
        "runtime": [("ok", "runc; also: crun", None)],
        "cgroup": [("ok", "version 2, rootful", None)],
        "session": found["session"],
        "limits": [("ok", "read back inside: memory 2048 MiB, swap 0 MiB, pids 256, "
                          "cpu none, open files 1024", None)],
        "isolation": [("ok", "no capability, seccomp", None)],
        "close": found["close"]}
    assert found["session"][0][1].endswith("image sandcell/python, Python 3.11.2, user 65534:65534")
    assert double.names() == ["engine", "opening", "open", "execute", "close"]


def test_text_has_one_line_per_finding_and_its_advice(double):
    done = double("doctor", env={
        "DOUBLE_DESCRIBE": json.dumps({**ENGINE, "warnings": ["no swap\nlimit \x1b[2J"]}),
        "DOUBLE_FAIL": "open"})
    assert done.returncode == 1
    lines = done.stdout.decode().splitlines()
    assert "warn  engine     no swap?limit ?[2J" in lines
    assert lines[-2:] == ["fail  session    open failed: 'because'",
                          "                 -> run it again with --verbose"]


@pytest.mark.parametrize("step, code, check", [
    ("engine", -4, "engine"), ("describe", -5, "engine"), ("open", -5, "session"),
    ("open", -7, "image"), ("execute", -12, "execute"), ("close", -5, "close")])
def test_step_that_fails_is_the_finding(double, step, code, check):
    exit_code, found = examine(double, DOUBLE_FAIL=step, DOUBLE_CODE=str(code))
    assert exit_code == 1
    assert [entry[0] for entry in found[check]].count("fail") == 1
    assert found[check][-1][1] == f"{step} failed: 'because'"
    assert ("close" in double.names()) == (step in ("describe", "execute", "close"))


def test_runtime_that_the_engine_lacks(double):
    code, found = examine(double, "--runtime", "runsc")
    assert code == 1
    assert found["runtime"] == [("fail", "the engine has no runtime 'runsc'; also: crun, runc",
                                 "register it with the engine, or leave --runtime out")]


def test_runtime_and_image_are_those_of_the_session(double):
    code, _ = examine(double, "--runtime", "crun", "--image", "other")
    assert code == 0
    asked = double.event("open")
    assert (asked["runtime"], asked["image"]) == ("crun", "other")


def test_limits_that_the_engine_drops_are_a_warning(double):
    code, found = examine(
        double, engine={"cgroup_version": 1, "rootless": True, "limits_work": False},
        session={"limits": {"in_force": {}}, "warnings": ["no limit 'pids'"]})
    assert code == 0
    assert found["cgroup"][0][0] == "warn" and "cgroup version 2" in found["cgroup"][0][2]
    assert found["limits"][0][1] == ("read back inside: memory none, swap none, pids none, "
                                     "cpu none, open files none")
    assert found["limits"][1][:2] == ("warn", "no limit 'pids'")


@pytest.mark.parametrize("value", [False, None, "yes"])
def test_isolation_that_is_not_in_force_is_a_failure(double, value):
    code, found = examine(double, facts={"seccomp": value})
    assert code == 1
    assert ("fail", "not in force: seccomp",
            "do not run unreviewed code on this engine") in found["isolation"]


def test_trial_code_that_fails_is_a_failure(double):
    code, found = examine(double, DOUBLE_OUTPUT="not json", DOUBLE_ERROR="E: why")
    assert code == 1
    assert found["execute"][0][:2] == ("fail", "the trial code did not end well: E: why")


@pytest.mark.parametrize("answer", ["{}", "[]", "not json"])
def test_nonsense_from_the_library_is_survived(double, answer):
    done = double("doctor", env={"DOUBLE_DESCRIBE": answer, "DOUBLE_SESSION": answer,
                                 "DOUBLE_OUTPUT": "[]"})
    assert done.returncode == 1
