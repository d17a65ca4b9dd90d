"""Refused commands that bash would turn into a write or an exec.

The danger is shown to be real: in a scratch container bash runs the command, and the folder is not what it
was.  Then the same text through the library: denied, and the folder is what it was.  And as the table is
the first line only: sed, awk and find scripts that it lets through are mutated and run without it.
"""

import json
import random

import pytest
import table
from judge import judge

BATCH = 40

# In a fresh folder each: run the job, and tell whether the folder changed.
FOLDERS = r'''
import hashlib, json, os, shutil, subprocess
def snapshot(folder):
    found = []
    for path, folders, files in os.walk(folder):
        for name in sorted(folders):
            found.append(os.path.join(path, name))
        for name in sorted(files):
            full = os.path.join(path, name)
            with open(full, "rb") as file:
                content = hashlib.sha256(file.read()).hexdigest()
            found.append("%s %s %d" % (full, content, os.stat(full).st_mtime_ns))
    return sorted(found)
def changes(jobs):
    """For each argv: whether it changed its folder."""
    shutil.rmtree("/workspace/model", ignore_errors=True)
    os.makedirs("/workspace/model")
    os.chdir("/workspace/model")
    fixture()
    found = []
    for argv in jobs:
        shutil.rmtree("/workspace/job", ignore_errors=True)
        shutil.copytree("/workspace/model", "/workspace/job", symlinks=True)
        os.chdir("/workspace/job")
        before = snapshot(".")
        try:
            subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           timeout=5, env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent"})
        except (subprocess.TimeoutExpired, OSError):
            pass
        found.append(snapshot(".") != before)
    os.chdir("/workspace")
    return json.dumps(found)
'''


@pytest.fixture(scope="module")
def scratch(session):
    assert session.execute(table.FIXTURE + FOLDERS).success
    return session


def changes(session, jobs):
    found = []
    for start in range(0, len(jobs), BATCH):
        result = session.execute("changes(%r)" % (jobs[start : start + BATCH],))
        assert result.success, result.error
        found += json.loads(result.output)
    return found


DANGEROUS = [row for row in table.rows(allowed=False) if row.get("danger")]


def test_the_dangers_are_real(scratch):
    assert len(DANGEROUS) > 200
    real = changes(scratch, [["bash", "-c", row["cmd"]] for row in DANGEROUS])
    harmless = [row for row, changed in zip(DANGEROUS, real) if not changed]
    # Some act in the background: those get a second to do so.
    again = changes(scratch, [["bash", "-c", 'eval "$0"; sleep 1', row["cmd"]] for row in harmless])
    assert not [(row["id"], row["cmd"]) for row, changed in zip(harmless, again) if not changed]


def test_nothing_happens_here(scratch):
    assert scratch.execute("os.chdir('/workspace')\nfixture()\nbefore = snapshot('/workspace')").success
    for row in table.rows(allowed=False):
        if "\0" in row["cmd"]:
            continue
        result = scratch.execute_cli(row["cmd"], quoted_operators=bool(row.get("quoted")))
        assert (result.status, result.success, result.stdout) == ("denied", False, ""), row
        assert row.get("why", "") in result.error
        assert result.state_preserved
    assert scratch.execute("snapshot('/workspace') == before").output is True


# ---- what is let through, mutated: the parsers must see what the programs see

FAMILIES = ("sed", "awk", "search", "text", "binary", "archive", "list", "compare")
PIECES = [
    "w p", "w p\n", "\nw p", "e touch p", "1e touch p", "/w p", "s/b/touch p/e", "r f", "a\\\n", "i x\\", ":a", "ba", ":a;", "}",
    "{", ";", "\n", "\\", "\\\n", "/", "[", "]", "[^", "[]", "[[:alpha:]]", "\"", "#", "(", ")", "|", "|&", ">", ">>", "> \"p\"",
    " > \"p\"", "print > \"p\"", "print", "printf", "system(\"touch p\")", "\"touch p\" | getline", "getline", "getline < \"f\"", "if (1)",
    "else", "do", "in", ",", "?", ":", "++", "--", "$", "!", "~", "@", "=", "/=", "\\/", "/\"/", "\"/\"", "length", "BEGIN{", "END{", "1", "x",
    "-exec", "touch", "p", "+", "-delete", "-fprint", "-name", "-o", "-r", "--", "-", "-f", "-x", "-t", "-e", "-i", "--output=p",
    "-O", "-C", "-d", " ", " p", " f p",
]  # fmt: skip


def mutants(count, seed):
    """Commands near those of the table, of one line of words each."""
    chosen = random.Random(seed)
    seeds = [
        row["cmd"] for row in table.rows() if row["id"].split(":")[0] in FAMILIES and "endless" not in row and len(row["cmd"]) < 200
    ]
    programs = ("sed", "awk")
    seeds += [cmd for cmd in seeds if cmd.startswith(programs)] * 3
    for _ in range(count):
        text = chosen.choice(seeds)
        for _ in range(chosen.choice((1, 1, 2, 3, 4))):
            at = chosen.randrange(len(text) + 1)
            kind = chosen.random()
            if kind < 0.6:
                text = text[:at] + chosen.choice(PIECES) + text[at:]
            elif kind < 0.8:
                text = text[:at] + text[at + chosen.randrange(1, 4) :]
            else:
                other = chosen.choice(seeds)
                text = text[:at] + other[chosen.randrange(len(other) + 1) :]
        yield text


def accepted_argvs(count, seed):
    """argv of each stage of the mutants that are let through, in each awk at hand."""
    found = {}
    for text in mutants(count, seed):
        answer = judge.ask(text, 1)
        for pipeline in answer.get("form", {}).get("pipelines", ()):
            for command in pipeline:
                if not all(isinstance(word, str) for word in command["argv"]):
                    continue
                argv = command["argv"]
                names = ["gawk", "mawk"] if argv[0] == "awk" else argv[:1]
                for name in names:
                    found[(name, *argv[1:])] = text
    return found


def test_mutants_that_are_let_through_write_nothing(scratch):
    found = accepted_argvs(6000, seed=20)
    assert len(found) > 800
    changed = changes(scratch, [list(argv) for argv in found])
    assert [(argv, found[argv]) for argv, bad in zip(found, changed) if bad] == []
