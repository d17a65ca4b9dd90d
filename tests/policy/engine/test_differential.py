"""Allowed commands against real shells in the same container: the same words, the same output.

bash and dash run as the session's own Python code would run them.
"""

import base64
import json

import pytest
import table
from judge import judge

BATCH = 40

# Runs each script under the named shell; answers [[exit code, stdout], ...].
SHELLS = r'''
import base64, json, os, subprocess
def shells(jobs):
    found = []
    for shell, script in jobs:
        env = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"], "USER": os.environ["USER"],
               "LANG": "C.UTF-8", "PWD": os.getcwd()}
        try:
            done = subprocess.run([shell, "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, env=env, timeout=20)
            found.append([done.returncode, base64.b64encode(done.stdout).decode()])
        except subprocess.TimeoutExpired:
            found.append([124, ""])
    return json.dumps(found)
'''


def flags(row):
    return 1 if row.get("quoted") else 0


@pytest.fixture(scope="module")
def place(session):
    assert session.execute(table.FIXTURE + "fixture()\n" + SHELLS).success
    return session


def run_shells(session, jobs):
    found = []
    for start in range(0, len(jobs), BATCH):
        result = session.execute("shells(%r)" % (jobs[start : start + BATCH],))
        assert result.success, result.error
        found += [(code, base64.b64decode(text)) for code, text in json.loads(result.output)]
    return found


ALLOWED = table.rows(allowed=True)
ENDING = [row for row in ALLOWED if not row.get("endless")]


def fixed_words(argv):
    """The words as text; None when a variable or ~ is among them.  Patterns as written: set -f."""
    found = []
    for word in argv:
        if isinstance(word, str):
            found.append(word)
            continue
        (parts,) = word.values()
        if any(kind in ("var", "home") for kind, _text in parts):
            return None
        found.append("".join(text for _kind, text in parts))
    return found


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_words_are_those_of_a_shell(place, shell):
    ours, jobs = [], []
    for row in ALLOWED:
        answer = judge.ask(row["cmd"], flags(row))
        commands = [command for pipeline in answer["form"]["pipelines"] for command in pipeline]
        for command, raw in zip(commands, answer["raw"]):
            words = fixed_words(command["argv"])
            if words:
                ours.append((row["id"], raw, words[1:]))
                jobs.append((shell, "set -f; printf '%s\\0' " + raw))
    assert len(jobs) > 700
    wrong = []
    for (row, raw, words), (_code, text) in zip(ours, run_shells(place, jobs)):
        theirs = text.decode("utf-8", "surrogateescape").split("\0")[1:-1]
        if words != theirs:
            wrong.append((row, raw, words, theirs))
    assert not wrong


# Where bash answers differently, and why.  Commands that start so are left out.
DIFFERS = {
    "printenv": "a shell adds variables of its own",
    "env": "a shell adds variables of its own",
    "jq -n 'env.HOME'": "jq gets no HOME, for ~/.jq would be code",
    "printf '%q": "bash's printf quotes in another way than the program",
    "sort -R f": "random",
    "date -R": "the clock",
    "date -u": "the clock",
    "date -Iseconds": "the clock",
    "stat f": "the time of the last reading",
    "stat -f .": "counts of free blocks",
    "cat $TMPDIR/x": "a shell has no TMPDIR",
    "awk -F $UNSET_VARIABLE": "an empty variable is a word here, and none to a shell",
    "find $X": "an empty variable is a word here, and none to a shell",
    "pwd --physical": "bash's pwd knows no long options",
    "ls f\r": "a shell takes the carriage return into the name",
    "LS": "the allowlist ignores case",
    "/usr/bin/LS": "the allowlist ignores case",
    "Cat": "the allowlist ignores case",
}


def differs(command):
    return command == "date" or any(command.startswith(start) for start in DIFFERS)


def test_output_and_exit_code_are_those_of_bash(place):
    jobs, ours = [], []
    for row in ENDING:
        if differs(row["cmd"]):
            continue
        jobs.append(("bash", row["cmd"]))
        result = place.execute_cli(row["cmd"], quoted_operators=bool(row.get("quoted")), timeout=30)
        ours.append((row, result))
    assert len(jobs) > 700
    wrong = []
    for (row, result), (code, text) in zip(ours, run_shells(place, jobs)):
        raw = result.stdout_bytes
        if row.get("sort"):
            raw, text = sorted(raw.split(b"\n")), sorted(text.split(b"\n"))
        if result.exit_code != code or raw != text:
            wrong.append((row["id"], row["cmd"], result.exit_code, result.stdout[:300], result.error, code, text[:300]))
    assert not wrong, "\n".join(map(repr, wrong))


def test_expected_output(place):
    wrong = []
    for row in ENDING:
        if not {"out", "code", "contains"} & set(row):
            continue
        result = place.execute_cli(row["cmd"], quoted_operators=bool(row.get("quoted")), timeout=30)
        out, expected = result.stdout, row.get("out", "")
        if row.get("sort"):
            out, expected = sorted(out.split("\n")), sorted(expected.split("\n"))
        good = (
            result.exit_code == row.get("code", 0)
            and ("out" not in row or out == expected)
            and row.get("contains", "") in result.stdout
            and result.success == (row.get("code", 0) == 0)
        )
        if not good:
            wrong.append((row["id"], row["cmd"], result.exit_code, result.stdout[:300], result.error))
    assert not wrong, "\n".join(map(repr, wrong))
