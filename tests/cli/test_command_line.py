"""Options, values, help and completion, all of them made from one table."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import schema
from conftest import BINARY

TOP = Path(__file__).resolve().parents[2]


def table(program):
    return {c["name"]: c for c in map(json.loads, program("help", "--json").stdout.splitlines())}


def spellings(option):
    return [f"-{option['letter']}"] * bool(option["letter"]) + \
        [f"--{option['name']}"] * bool(option["name"])


def complaint(done):
    """The one line on stderr of a command line that was refused."""
    assert done.returncode == 2
    assert done.stdout == b""
    text = done.stderr.decode()
    assert text.startswith("sandcell: ") and text.count("\n") == 1
    return text[len("sandcell: "):-1]


# ---- what is refused ---------------------------------------------------------------------

def test_no_command_names_the_help(program):
    assert complaint(program()) == "no command given; see 'sandcell --help'"


@pytest.mark.parametrize("word, kind", [("frobnicate", "command"), ("--frobnicate", "option"),
                                        ("", "command")])
def test_unknown_command_is_named(program, word, kind):
    assert complaint(program(word)) == f"unknown {kind} '{word}'; see 'sandcell --help'"


def test_control_characters_of_an_argument_are_not_passed_on(program):
    for given, shown in (("a\x1b[2Jb\nc", "a?[2Jb?c"), ("ü\x9bJ\x1b[31m", "ü??J?[31m"),
                         (os.fsdecode(b"a\xff\xc3"), "a??")):
        assert complaint(program(given)) == f"unknown command '{shown}'; see 'sandcell --help'"


@pytest.mark.parametrize("args, message", [
    (["--memroy", "1g"], "unknown option '--memroy'"),
    (["--memory=1g=2", "x"], "--memory '1g=2' is not a size"),
    (["-x"], "unknown option '-x'"),
    (["--json=yes"], "--json takes no value, 'yes' was given"),
    (["--memory"], "--memory needs a value, SIZE"),
    (["-c"], "-c needs a value, CODE"),
    ([], "name a file, -c CODE, or - for stdin"),
    (["--env", "=x", "-c", ""], "--env '=x' has no name"),
    (["--env", "SANDCELL_NOT_SET", "-c", ""], "--env 'SANDCELL_NOT_SET' is not set here"),
    (["--stdin", "-", "-"], "standard input cannot be both the code and --stdin"),
])
def test_wrong_use_is_one_line_that_names_the_help(program, args, message):
    text = complaint(program("run", *args))
    assert text.startswith(f"run: {message}")
    assert text.endswith("; see 'sandcell run --help'")


def test_more_operands_than_a_command_takes(program):
    assert "unexpected argument 'b'" in complaint(program("help", "run", "b"))


# ---- values ------------------------------------------------------------------------------

GOOD = [
    ("memory", "memory_bytes", {
        "1": 1, "512m": 512 << 20, "512M": 512 << 20, "512mb": 512 << 20, "512MiB": 512 << 20,
        "2g": 2 << 30, "1.5g": 3 << 29, "4k": 4096, "1t": 1 << 40, "7b": 7, "0.5k": 512,
        "9223372036854775807": 2**63 - 1, "007": 7,
    }),
    ("timeout", "timeout_ms", {
        "10": 10000, "1.5s": 1500, "30m": 1800000, "250ms": 250, "2h": 7200000, "1d": 86400000,
        "0.001": 1, "1.0019": 1001, "4294967.294": 2**32 - 2,
        "0": 2**32 - 1, "none": 2**32 - 1,
    }),
    ("lease", "lease_ms", {"10": 10000, "1S": 1000}),
    ("cpus", "cpu_millis", {"1": 1000, "1.5": 1500, "0.01": 10, "0.001": 1}),
    ("pids", "pids_max", {"1": 1, "256": 256, "4294967295": 2**32 - 1}),
]

NOT_A_NUMBER = ["", " ", "1 ", " 1", "+1", "-1", "1e3", "0x10", "nan", "inf", "infinity", ".5",
                "1.", "1..5", "1,5", "1_000", "١"]
BAD = [
    ("memory", "is not a size", NOT_A_NUMBER + ["1x", "m", "1mm", "1ibm", "unlimited", "none"]),
    ("memory", "is too small", ["0", "0m", "0.5", "0.0001k"]),
    ("memory", "is too large", ["9223372036854775808", "8388608t", "99999999999999999999", "1" * 400]),
    ("timeout", "is not a duration", NOT_A_NUMBER + ["1x", "1 s", "1h30m", "1min", "None"]),
    ("timeout", "is too small; give none for no limit", ["0.0009", "0s", "0.0"]),
    ("timeout", "is too large", ["4294967.295", "50d", "9" * 30]),
    ("lease", "is too small", ["0"]),
    ("lease", "is not a duration", ["none"]),
    ("cpus", "is not a number of CPUs", NOT_A_NUMBER + ["1c"]),
    ("cpus", "is too small", ["0", "0.0001"]),
    ("cpus", "is too large", ["4294968"]),
    ("pids", "is not a number", NOT_A_NUMBER + ["1.0", "1k"]),
    ("pids", "is too small", ["0"]),
    ("pids", "is too large", ["4294967296"]),
]


@pytest.mark.parametrize("option, member, text, value", [
    (option, member, text, value) for option, member, values in GOOD
    for text, value in values.items()])
def test_value_is_read_exactly(double, option, member, text, value):
    assert double("run", f"--{option}", text, "-c", "").returncode == 0
    event = double.event("execute" if option == "timeout" else "open")
    assert event[member] == value


@pytest.mark.parametrize("option, why, text", [
    (option, why, text) for option, why, texts in BAD for text in texts])
def test_value_is_refused_by_name(double, option, why, text):
    said = complaint(double("run", f"--{option}={text}", "-c", ""))
    assert said.startswith(f"run: --{option} '{text}' {why}")
    assert double.events() == []


# ---- where options end -------------------------------------------------------------------

@pytest.mark.parametrize("args, code, rest", [
    (["-c", "x"], "x", []),
    (["-cx"], "x", []),
    (["-c", "x", "a", "--json", "-c"], "x", ["a", "--json", "-c"]),
    (["-c", "x", "--", "--json"], "x", ["--json"]),
    (["--", "FILE", "--", "--json"], "pass\n", ["--", "--json"]),
    (["FILE", "--help", "-"], "pass\n", ["--help", "-"]),
    (["-", "-c"], "from stdin", ["-c"]),
    (["-c", "1", "-c", "2"], "2", []),
    (["-c", ""], "", []),
])
def test_options_end_with_the_script(double, tmp_path, args, code, rest):
    script = tmp_path / "job.py"
    script.write_text("pass\n")
    args = [str(script) if a == "FILE" else a for a in args]
    done = double("run", *args, stdin=b"from stdin")
    assert done.returncode == 0, done.stderr
    asked = double.event("execute")
    assert (asked["code"], asked["args"]) == (code, rest)


def test_options_of_a_session_reach_it(double, tmp_path):
    done = double(
        "run", "--image", "i", "--workspace", "ws:ro", "--mount", "a:/b", "--mount=c:/d:ro",
        "--user", "1:2", "--network", "n", "--env", "A=1", "-eB=", "-e", "C", "--preload", "p",
        "--runtime", "r", "--strict-limits", "--host", "unix:///h", "-c", "",
        env={"C": "from here"})
    assert done.returncode == 0, done.stderr
    asked = double.event("open")
    assert asked == {
        "event": "open", "image": "i", "workspace": "ws", "mounts": ["a:/b", "c:/d:ro"],
        "env": ["A=1", "B=", "C=from here"], "user": "1:2", "network": "n", "runtime": "r",
        "preload": "p", "memory_bytes": 0, "cpu_millis": 0, "pids_max": 0, "lease_ms": 0,
        "flags": 3}
    assert double.event("engine")["host"] == "unix:///h"


@pytest.mark.parametrize("text, directory, flags", [
    ("d", "d", 0), ("d:ro", "d", 1), ("d:rw", "d", 0), ("d:ro:rw", "d:ro", 0), ("d:x", "d:x", 0),
    (":ro", ":ro", 0)])
def test_workspace_may_be_read_only(double, text, directory, flags):
    assert double("run", "--workspace", text, "-c", "").returncode == 0
    asked = double.event("open")
    assert (asked["workspace"], asked["flags"]) == (directory, flags)


# ---- help --------------------------------------------------------------------------------

def test_help_of_each_command_shows_each_of_its_options(program):
    for name, command in table(program).items():
        done = program(name, "--help")
        assert done.returncode == 0 and done.stderr == b""
        text = done.stdout.decode()
        assert text == program("help", name).stdout.decode()
        assert text.startswith(f"Usage: sandcell {name} [OPTIONS]")
        for option in command["options"]:
            shown = ", ".join(spellings(option)) + (f" {option['value']}" if option["value"] else "")
            assert re.search(rf"^  {re.escape(shown)}\s", text, re.M), shown


def test_help_fits_a_narrow_terminal(program):
    for name in [*table(program), ""]:
        for line in program("help", *[name] * bool(name)).stdout.decode().splitlines():
            assert len(line) <= 80, line


@pytest.mark.parametrize("args", [["--help"], ["-h"], ["help"]])
def test_overview_lists_every_command(program, args):
    done = program(*args)
    assert done.returncode == 0
    for name, command in table(program).items():
        assert re.search(rf"^  {name} +{re.escape(command['summary'])}$", done.stdout.decode(), re.M)


def test_help_wins_over_what_else_is_wrong_after_it(program):
    assert program("run", "--help").returncode == 0
    assert program("completion", "--help", "a", "b", "c").returncode == 0


@pytest.mark.parametrize("args", [["version"], ["--version"], ["-V"]])
def test_version(program, args):
    assert re.fullmatch(rb"sandcell \d+\.\d+\.\d+\n", program(*args).stdout)


def test_version_as_json(program):
    schema.check(json.loads(program("version", "--json").stdout), schema.VERSION)


def test_version_tells_a_library_of_another_version(double):
    done = double("version", env={"DOUBLE_VERSION": "513", "DOUBLE_VERSION_TEXT": "0.2.1"})
    assert re.fullmatch(rb"sandcell \d+\.\d+\.\d+ \(libsandcell 0\.2\.1\)\n", done.stdout)


def test_full_disk_is_not_a_success(program):
    with open("/dev/full", "wb") as full:
        done = program.start("--help", stdout=full, stderr=subprocess.PIPE)
        _, said = done.communicate()
    assert done.returncode == 125
    assert said == b"sandcell: cannot write to standard output: No space left on device\n"


# ---- the manual --------------------------------------------------------------------------

def manual_options():
    """Options by command, as src/cli/sandcell.1 has them: .Ss sections of .Sh COMMANDS."""
    found, command = {}, None
    for line in (TOP / "src/cli/sandcell.1").read_text().splitlines():
        if line.startswith(".Sh "):
            command = None
        elif line.startswith(".Ss "):
            command = line[4:].strip()
            found[command] = {}
        elif command and line.startswith(".It Fl "):
            words = line[len(".It Fl "):].split()
            names = [words.pop(0)]
            while words[:3][:2] == [",", "Fl"]:
                names.append(words[2])
                del words[:3]
            value = words[1] if words[:1] == ["Ar"] else None
            found[command][frozenset("-" + n for n in names)] = value
    return found


def test_manual_has_the_options_of_the_table(program):
    manual = manual_options()
    common = {frozenset(["-h", "--help"])}
    for name, command in table(program).items():
        expected = {frozenset(spellings(o)): o["value"] for o in command["options"]}
        for names in common:
            expected.pop(names)
        if name == "help" or not expected:
            continue
        got = {names: value and value.replace("\\&", "") for names, value in manual[name].items()}
        assert got == expected, name


def test_manual_is_clean():
    if not shutil.which("mandoc"):
        pytest.skip("needs mandoc")
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", TOP / "src/cli/sandcell.1"],
                          stdout=subprocess.PIPE, timeout=30)
    assert (done.returncode, done.stdout) == (0, b"")


def test_manual_has_the_exit_codes_of_the_header():
    header = (TOP / "src/cli/exit_codes.h").read_text()
    codes = set(re.findall(r"EXIT_CODE_\w+ = (\d+)", header)) - {"128"}
    text = (TOP / "src/cli/sandcell.1").read_text()
    section = text[text.index(".Sh EXIT STATUS"):].split(".Sh ")[1]
    assert codes == set(re.findall(r"^\.It (\d+)$", section, re.M))


# ---- completion --------------------------------------------------------------------------

def bash_completes(words, directory):
    """What bash offers for the last of words."""
    script = f"""
        source <({BINARY} completion bash)
        COMP_WORDS=({' '.join(f"'{w}'" for w in words)})
        COMP_CWORD={len(words) - 1}
        _sandcell
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", script], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=30, cwd=directory, check=True)
    assert done.stderr == b""
    return set(done.stdout.decode().split("\n")) - {""}


def test_bash_completes_commands_options_and_values(program, tmp_path):
    (tmp_path / "my job.py").touch()
    (tmp_path / "folder").mkdir()
    commands = table(program)
    assert bash_completes(["sandcell", ""], tmp_path) == {*commands, "--help", "--version"}
    assert bash_completes(["sandcell", "ru"], tmp_path) == {"run"}
    offered = bash_completes(["sandcell", "run", "-"], tmp_path)
    assert offered == {s for o in commands["run"]["options"] for s in spellings(o)}
    assert bash_completes(["sandcell", "run", "--workspace", ""], tmp_path) == {"folder"}
    assert bash_completes(["sandcell", "run", "--memory", ""], tmp_path) == set()
    assert bash_completes(["sandcell", "run", "--raw", ""], tmp_path) == {"my job.py", "folder"}
    assert bash_completes(["sandcell", "completion", ""], tmp_path) == {"bash", "zsh", "fish"}


@pytest.mark.parametrize("shell, check", [
    ("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])])
def test_completion_is_accepted_by_its_shell(program, tmp_path, shell, check):
    script = tmp_path / "script"
    script.write_bytes(program("completion", shell).stdout)
    if not shutil.which(shell):
        pytest.skip(f"needs {shell}")
    subprocess.run([*check, script], check=True, timeout=30)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_option(program, shell):
    text = program("completion", shell).stdout.decode()
    for command in table(program).values():
        for option in command["options"]:
            if option["name"]:
                name = option["name"]
                assert (f"-l {name}" if shell == "fish" else f"--{name}") in text


def test_no_completion_for_other_shells(program):
    assert "no completion for 'csh'" in complaint(program("completion", "csh"))
    assert "name a shell" in complaint(program("completion"))
