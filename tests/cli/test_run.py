"""`sandcell run` on the stand-in library: what it asks for, and what it makes of answers."""
import array
import fcntl
import json
import os
import random
import re
import resource
import signal
import subprocess
import termios

import pytest

import schema
from conftest import BINARY, HANG, wait_for

OK, ERROR, TIMEOUT, INTERRUPTED, OOM, EXITED, SIGNALED, DENIED, LOST = range(9)


# ---- exit codes --------------------------------------------------------------------------

@pytest.mark.parametrize("settings, code", [
    ({}, 0),
    ({"DOUBLE_STATUS": ERROR}, 1),
    ({"DOUBLE_STATUS": TIMEOUT}, 124),
    ({"DOUBLE_STATUS": INTERRUPTED}, 130),
    ({"DOUBLE_STATUS": OOM}, 137),
    ({"DOUBLE_STATUS": EXITED, "DOUBLE_EXIT_CODE": 0}, 0),
    ({"DOUBLE_STATUS": EXITED, "DOUBLE_EXIT_CODE": 3}, 3),
    ({"DOUBLE_STATUS": EXITED, "DOUBLE_EXIT_CODE": 255}, 255),
    ({"DOUBLE_STATUS": SIGNALED, "DOUBLE_SIGNAL": 11}, 139),
    ({"DOUBLE_STATUS": DENIED}, 126),
    ({"DOUBLE_STATUS": LOST}, 125),
    ({"DOUBLE_STATUS": 99}, 125),
])
def test_each_ending_has_its_exit_code(double, settings, code):
    done = double("run", "-c", "x", env={k: str(v) for k, v in settings.items()})
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")
    assert double.names() == ["engine", "opening", "open", "execute", "close"]
    with_json = double("run", "--json", "-c", "x", env={k: str(v) for k, v in settings.items()})
    assert (with_json.returncode, with_json.stdout) == (code, b"{}\n")


@pytest.mark.parametrize("step", ["engine", "open", "execute", "close"])
@pytest.mark.parametrize("reason, code", [(-5, 125), (-4, 125), (-3, 2)])
def test_failure_is_one_line_and_its_exit_code(double, step, reason, code):
    env = {"DOUBLE_FAIL": step, "DOUBLE_CODE": str(reason)}
    done = double("run", "-c", "x", env=env)
    assert done.returncode == code
    assert done.stdout == b""
    assert done.stderr == b"sandcell: %s failed: 'because'\n" % step.encode()
    assert ("close" in double.names()) == (step in ("execute", "close"))


def test_failed_close_does_not_hide_how_the_code_ended(double):
    done = double("run", "-c", "x", env={"DOUBLE_FAIL": "close", "DOUBLE_STATUS": "2"})
    assert done.returncode == 124
    assert b"close failed" in done.stderr


def test_failure_is_an_object_with_json(double):
    done = double("run", "--json", "-c", "x", env={"DOUBLE_FAIL": "engine", "DOUBLE_CODE": "-4"})
    assert done.returncode == 125
    assert done.stdout.count(b"\n") == 1
    schema.check(json.loads(done.stdout), schema.FAILURE)
    assert json.loads(done.stdout) == {
        "status": "failed", "success": False, "error": "engine failed: 'because'",
        "reason": "cannot connect"}
    assert done.stderr == b"sandcell: engine failed: 'because'\n"


# ---- output ------------------------------------------------------------------------------

def test_output_goes_where_it_was_written_to(double):
    done = double("run", "-c", "x", env={
        "DOUBLE_LATE": "late ", "DOUBLE_STDOUT": "out\x1b[2J\r", "DOUBLE_STDERR": "err"})
    assert (done.stdout, done.stderr) == (b"late out\x1b[2J\r", b"err")


def test_error_follows_on_a_line_of_its_own(double):
    done = double("run", "-c", "x", env={
        "DOUBLE_STATUS": "1", "DOUBLE_STDERR": "half a line", "DOUBLE_ERROR": "Traceback\nE: x"})
    assert done.stderr == b"half a line\nTraceback\nE: x\n"


@pytest.mark.parametrize("error, preserved, shown", [
    ("SystemExit: 3", 1, b""), ("no input", 1, b"no input\n"), ("3", 1, b"3\n"),
    ("ended with status 3; variables are lost", 0, b"")])
def test_exit_shows_its_text_but_no_number(double, error, preserved, shown):
    done = double("run", "-c", "x", env={
        "DOUBLE_STATUS": str(EXITED), "DOUBLE_EXIT_CODE": "3", "DOUBLE_ERROR": error,
        "DOUBLE_PRESERVED": str(preserved)})
    assert (done.returncode, done.stderr) == (3, shown)


@pytest.mark.parametrize("status", [TIMEOUT, OOM, SIGNALED, DENIED, LOST])
def test_verdict_of_ours_is_one_line_of_ours(double, status):
    env = {"DOUBLE_STATUS": str(status), "DOUBLE_ERROR": "out of luck", "DOUBLE_STDERR": "half"}
    assert double("run", "-c", "x", env=env).stderr == b"half\nsandcell: out of luck\n"
    env["DOUBLE_ERROR"] = "Traceback\n  two lines"
    assert double("run", "-c", "x", env=env).stderr == b"half\nTraceback\n  two lines\n"


def test_json_is_the_result_and_nothing_is_streamed(double):
    done = double("run", "--json", "-c", "x", env={
        "DOUBLE_STDOUT": "out", "DOUBLE_STATUS": "1", "DOUBLE_ERROR": "E", "DOUBLE_JSON": '{"a":1}'})
    assert (done.returncode, done.stdout, done.stderr) == (1, b'{"a":1}\n', b"")
    assert double.event("execute")["streams"] is False


def test_warnings_of_the_session_are_told_once(double):
    session = {"warnings": ["no memory limit\n\x1b[2J", 7, "second"]}
    done = double("run", "-c", "x", env={"DOUBLE_SESSION": json.dumps(session)})
    assert done.stderr == (b"sandcell: warning: no memory limit??[2J\n"
                           b"sandcell: warning: second\n")


def test_verbose_shows_the_conversation_with_times(double):
    done = double("run", "--verbose", "-c", "x")
    words = done.stderr.split()
    assert words[0] == b"sandcell:" and float(words[1]) < HANG and words[2:] == [b"GET", b"/_ping", b"200"]


def test_reader_that_leaves_ends_it_cleanly(double):
    process = double.start("run", "-c", "x", env={"DOUBLE_ENDLESS": "loud"},
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(HANG) == 128 + signal.SIGPIPE
    assert process.stderr.read() == b""
    assert double.names()[-1] == "close"


def test_full_disk_under_the_output_is_told(double):
    with open("/dev/full", "wb") as full:
        process = double.start("run", "-c", "x", env={"DOUBLE_STDOUT": "much"},
                               stdout=full, stderr=subprocess.PIPE)
        _, said = process.communicate(timeout=HANG)
    assert process.returncode == 125
    assert said == b"sandcell: cannot write the output: No space left on device\n"
    assert double.names()[-1] == "close"


def test_nonblocking_stdout_loses_nothing(double):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    text = "x" * 100_000
    process = double.start("run", "-c", "x", env={"DOUBLE_STDOUT": text}, stdout=writer)
    os.close(writer)
    with open(reader, "rb") as stream:
        assert stream.read() == text.encode()
    assert process.wait(HANG) == 0


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_closed_descriptors_are_not_given_to_others(double, closed):
    done = double("run", "-c", "x", env={"DOUBLE_STDOUT": "out", "DOUBLE_STDERR": "err"},
                  preexec_fn=lambda: os.close(closed))
    assert done.returncode == (125 if closed == 1 else 0)  # output that is lost is no success
    assert done.stdout == (b"" if closed == 1 else b"out")
    assert done.stderr == (b"" if closed == 2 else b"err") or closed == 1
    for event in double.events():
        assert "out" not in event.values()


# ---- signals -----------------------------------------------------------------------------

def started(program):
    wait_for(lambda: "execute" in program.names(), "the call")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_interrupts_closes_and_is_the_exit_code(double, number):
    process = double.start("run", "-c", "x", env={"DOUBLE_ENDLESS": "quiet"})
    started(double)
    process.send_signal(number)
    assert process.wait(HANG) == 128 + number
    assert double.names()[-1] == "close"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_an_open(double, number):
    process = double.start("run", "-c", "x", env={"DOUBLE_SLOW_OPEN": "1"}, stderr=subprocess.PIPE)
    wait_for(lambda: "opening" in double.names(), "the opening")
    process.send_signal(number)
    _, said = process.communicate(timeout=HANG)
    assert (process.returncode, said) == (128 + number, b"")


def test_code_may_handle_an_interrupt_but_not_a_termination(double):
    for number, code in ((signal.SIGINT, 3), (signal.SIGTERM, 143)):
        double.log_file.unlink(missing_ok=True)
        process = double.start("run", "-c", "x", env={
            "DOUBLE_ENDLESS": "quiet", "DOUBLE_INTERRUPTED_STATUS": str(EXITED),
            "DOUBLE_EXIT_CODE": "3"})
        started(double)
        process.send_signal(number)
        assert process.wait(HANG) == code


def test_interrupted_run_is_never_a_success(double):
    process = double.start("run", "-c", "x", env={
        "DOUBLE_ENDLESS": "quiet", "DOUBLE_INTERRUPTED_STATUS": str(OK)})
    started(double)
    process.send_signal(signal.SIGINT)
    assert process.wait(HANG) == 130


def waiting_in_pipe(stream):
    """Bytes that nobody has read yet."""
    count = array.array("i", [0])
    fcntl.ioctl(stream, termios.FIONREAD, count)
    return count[0]


def test_signal_is_heard_while_nobody_reads_the_output(double):
    process = double.start("run", "-c", "x", env={"DOUBLE_ENDLESS": "loud"},
                           stdout=subprocess.PIPE)
    with process.stdout as stream:
        size = fcntl.fcntl(stream, fcntl.F_GETPIPE_SZ)
        wait_for(lambda: waiting_in_pipe(stream) == size, "a full pipe")
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG) == 143
    assert double.names()[-1] == "close"


def test_interrupt_while_the_code_is_typed(double):
    process = double.start("run", "-", stdin=subprocess.PIPE)
    with process.stdin:
        wait_for(lambda: signal.SIGINT in caught(process.pid), "its handlers")
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG) == 130
    assert double.events() == []


def caught(pid):
    """Signals that the process handles."""
    with open(f"/proc/{pid}/status") as status:
        (mask,) = [int(line.split()[1], 16) for line in status if line.startswith("SigCgt")]
    return {n for n in range(1, 65) if mask >> (n - 1) & 1}


def test_ignored_signals_stay_ignored(double):
    process = double.start(
        "run", "-c", "x", env={"DOUBLE_ENDLESS": "quiet"},
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    started(double)
    assert signal.SIGHUP not in caught(process.pid)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    assert process.wait(HANG) == 143


# ---- terminals ---------------------------------------------------------------------------

def test_ctrl_c_on_a_terminal(double, terminal):
    screen = terminal(double, "run", "-c", "x", env={"DOUBLE_ENDLESS": "quiet",
                                                     "DOUBLE_STDOUT": "ready"})
    screen.read_until(b"ready")
    screen.press(b"\x03")
    assert screen.wait() == 130
    assert double.names()[-1] == "close"


HARMLESS = "plain ümläut 😀 tab\there \b back\x1b[1;38:5:9m red\x1b[m"
CLEANED = [
    ("\x1b]0;title\x07", "^[]0;title^G"),        # window title
    ("\x1b]52;c;ZXZpbA==\x07", "^[]52;c;ZXZpbA==^G"),  # clipboard
    ("\x1b[2J\x1b[H", "^[[2J^[[H"),              # clear, home
    ("\x1b[6n\x1b[c", "^[[6n^[[c"),              # queries, answered into stdin
    ("\x1b[>4;2m", "^[[>4;2m"),                  # not a colour: xterm's key options
    ("\x1b[31\x1b[32m", "^[[31\x1b[32m"),
    ("\x1bP$q\x1b\\", "^[P$q^[\\"),
    ("\x07\x0e\x0f\x0b\x0c\x7f", "^G^N^O^K^L^?"),
    ("a\x9bJ\x85", "a\ufffd\ufffdJ\ufffd\ufffd"),  # C1 controls in UTF-8
    ("\x1b[" + "1;" * 40 + "m", "^[[" + "1;" * 40 + "m"),
    ("\x1b", "^["),                              # at the end of the output
    ("\x1b[3", "^[[3"),
]


def lines_of(screen):
    return screen.output.replace(b"\r\n", b"\n")


@pytest.mark.parametrize("text, shown", CLEANED)
def test_terminal_gets_no_control_of_itself(double, terminal, text, shown):
    screen = terminal(double, "run", "-c", "x", env={"DOUBLE_STDOUT": text})
    assert screen.wait() == 0
    coloured = "\x1b[32m" in shown
    assert lines_of(screen).decode() == shown + "\x1b[0m" * coloured


def test_bytes_that_are_not_text_are_replaced_on_a_terminal(double, terminal):
    text = os.fsdecode(b"\xff\xc3(\xe2\x82\xf0\x9f\x98\xed\xa0\x80 \xc0\xaf")
    screen = terminal(double, "run", "-c", "x", env={"DOUBLE_STDOUT": text})
    assert screen.wait() == 0
    assert "\ufffd" in screen.output.decode()


def test_text_and_colours_reach_a_terminal_and_end_with_it(double, terminal):
    screen = terminal(double, "run", "-c", "x", env={"DOUBLE_STDOUT": HARMLESS})
    assert screen.wait() == 0
    assert screen.output.decode() == HARMLESS + "\x1b[0m"


def random_bytes(seed):
    """Mostly what a terminal might obey, and the beginnings of it."""
    source = random.Random(seed)
    parts = [b"\x1b", b"[", b"m", b"31", b";", b"\x9b", b"\xc2", b"\xc2\x9b", b"\xe2\x82\xac", b"\xf0\x9f",
             b"\xed\xa0\x80", b"\xff", b"]0;", b"\x07", b"\x08", b"A", b"\r", b"\t", b"\x7f", b"1" * 30]
    return b"".join(source.choice(parts) for _ in range(400))


@pytest.mark.parametrize("seed", range(12))
def test_no_bytes_in_whatever_pieces_reach_a_terminal_as_control(double, terminal, seed):
    shown = set()
    for piece in (1, 2, 3, 1000):
        screen = terminal(double, "run", "-c", "x", env={
            "DOUBLE_STDOUT": os.fsdecode(random_bytes(seed)), "DOUBLE_PIECE": str(piece)})
        assert screen.wait() == 0
        shown.add(screen.output)
    (output,) = shown
    text = re.sub("\x1b\\[[0-9:;]*m", "", output.decode())  # UTF-8 throughout
    assert not re.search("[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]", text)


def test_traceback_is_cleaned_as_well(double, terminal):
    screen = terminal(double, "run", "-c", "x",
                      env={"DOUBLE_STATUS": "1", "DOUBLE_ERROR": "E: \x1b[2J"})
    assert screen.wait() == 1
    assert lines_of(screen) == b"E: ^[[2J\n"


def test_raw_lets_everything_through(double, terminal):
    screen = terminal(double, "run", "--raw", "-c", "x", env={"DOUBLE_STDOUT": "\x1b[2J\x07"})
    assert screen.wait() == 0
    assert screen.output == b"\x1b[2J\x07"


# ---- what is run -------------------------------------------------------------------------

@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "sub/job.py").write_text("1")
    (root / "link.py").symlink_to("sub/job.py")
    (tmp_path / "ws2").mkdir()
    (tmp_path / "ws2/job.py").write_text("2")
    return tmp_path


@pytest.mark.parametrize("args, script", [
    (["ws/sub/job.py"], "job.py"),
    (["--workspace", "ws", "ws/sub/job.py"], "/workspace/sub/job.py"),
    (["--workspace", "ws/", "./ws/../ws/sub/job.py"], "/workspace/sub/job.py"),
    (["--workspace", "ws:ro", "ws/link.py"], "/workspace/sub/job.py"),
    (["--workspace", "ws", "ws2/job.py"], "job.py"),
    (["--workspace", ".", "ws2/job.py"], "/workspace/ws2/job.py"),
    (["--workspace", "missing", "ws2/job.py"], "job.py"),
    (["--mount", "ws2:/data:ro", "ws2/job.py"], "/data/job.py"),
    (["--mount", "nothing", "--mount", "ws2:/data", "--workspace", ".", "ws2/job.py"],
     "/data/job.py"),
    (["-c", "x"], "-c"),
    (["-"], "-"),
])
def test_script_has_the_name_it_has_inside(double, tree, args, script):
    done = double("run", *args, cwd=tree)
    assert done.returncode == 0, done.stderr
    asked = double.event("execute")
    assert (asked["script"], asked["flags"]) == (script, 1)  # ends as a program does


def test_script_may_come_from_anywhere(double, tmp_path):
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    assert double("run", tmp_path / "bom.py").returncode == 0
    assert double.event("execute")["code"] == "x = 1\r\n"
    double.log_file.unlink()
    done = subprocess.run(["bash", "-c", '"$0" run <(echo y) a', BINARY],
                          env=double.env, timeout=HANG, check=True)
    assert done.returncode == 0
    asked = double.event("execute")
    assert (asked["code"], asked["args"]) == ("y\n", ["a"])


@pytest.mark.parametrize("name, why", [
    ("missing.py", "No such file or directory"),
    (".", "Is a directory"),
    ("loop", "Too many levels of symbolic links"),
    ("", "No such file or directory"),
])
def test_unreadable_file_is_told(double, tmp_path, name, why):
    (tmp_path / "loop").symlink_to("loop")
    for args in (["run", name], ["run", "-c", "x", "--stdin", name]):
        done = double(*args, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr == f"sandcell: cannot read '{name}': {why}\n".encode()
    assert double.events() == []


def test_script_that_is_too_large_is_told(double, tmp_path):
    with open(tmp_path / "large.py", "wb") as large:
        large.truncate((16 << 20) + 1)
    done = double("run", "large.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2, b"sandcell: cannot read 'large.py': more than 16 MiB\n")
    done = subprocess.run(["bash", "-c", '"$0" run /dev/zero', BINARY],
                          env=double.env, timeout=HANG, stderr=subprocess.PIPE)
    assert done.returncode == 2


@pytest.mark.parametrize("args, given, expected", [
    (["-c", "x"], b"not read", None),
    (["-c", "x", "--stdin", "-"], b"from ours", "from ours"),
    (["-c", "x", "--stdin", "-"], b"", ""),
    (["-c", "x", "--stdin", "input"], b"not read", "from a file"),
    (["-", "--stdin", "input"], b"code", "from a file"),
])
def test_stdin_of_the_code(double, tmp_path, args, given, expected):
    (tmp_path / "input").write_text("from a file")
    # Options end with "-": they come first.
    args = args[1:] + args[:1] if args[0] == "-" else args
    done = double("run", *args, stdin=given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert double.event("execute")["stdin"] == expected


# ---- displays ----------------------------------------------------------------------------

def test_displays_are_written_as_files(double, tmp_path):
    done = double("run", "--display", "out", "-c", "x", cwd=tmp_path, env={"DOUBLE_PNG": "bytes"})
    assert done.returncode == 0, done.stderr
    assert {p.name: p.read_text() for p in (tmp_path / "out").iterdir()} == {
        "display-1.png": "bytes", "display-1.txt": "bytes"}


def test_links_in_the_display_directory_are_not_followed(double, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/display-1.png").symlink_to(victim)
    done = double("run", "--display", "out", "-c", "x", cwd=tmp_path, env={"DOUBLE_PNG": "bytes"})
    assert done.returncode == 0
    assert victim.read_text() == "precious"
    assert (tmp_path / "out/display-1.png").read_text() == "bytes"


def test_display_directory_that_cannot_be_is_told_before_anything_runs(double, tmp_path):
    (tmp_path / "file").touch()
    done = double("run", "--display", "file", "-c", "x", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == b"sandcell: cannot open the directory 'file': Not a directory\n"
    assert double.events() == []


def test_display_that_cannot_be_written_is_told(double, tmp_path):
    def no_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    done = double("run", "--display", "out", "-c", "x", cwd=tmp_path, preexec_fn=no_files,
                  env={"DOUBLE_PNG": "b" * 5000})
    assert done.returncode == 125
    assert done.stderr == b"sandcell: cannot write 'display-1.png': File too large\n"
    assert list((tmp_path / "out").iterdir()) == []
    assert double.names()[-1] == "close"


# ---- commands ----------------------------------------------------------------------------

def test_command_is_judged_and_run_by_the_library(double):
    done = double("run", "--timeout", "2", "--quoted-operators", "--cli", "ls | wc",
                  env={"DOUBLE_STDOUT": "out"})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"out", b"")
    asked = double.event("cli")
    assert (asked["command"], asked["flags"], asked["timeout_ms"]) == ("ls | wc", 1, 2000)


@pytest.mark.parametrize("settings, code, said", [
    ({"DOUBLE_STATUS": ERROR, "DOUBLE_EXIT_CODE": 2, "DOUBLE_STDERR": "no\n",
      "DOUBLE_ERROR": "no"}, 2, b"no\n"),
    ({"DOUBLE_STATUS": ERROR, "DOUBLE_ERROR": "the runner\nfailed"}, 1, b"the runner\nfailed\n"),
    ({"DOUBLE_STATUS": DENIED, "DOUBLE_ERROR": "not allowed"}, 126, b"sandcell: not allowed\n"),
])
def test_command_ends_with_its_own_status(double, settings, code, said):
    done = double("run", "--cli", "ls", env={k: str(v) for k, v in settings.items()})
    assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.parametrize("args", [["-c", "x"], ["job.py"], ["--stdin", "-"]])
def test_command_goes_with_no_code(double, args):
    done = double("run", "--cli", "ls", *args)
    assert done.returncode == 2 and b"--cli goes with no code" in done.stderr
    assert double.events() == []


def test_validate_prints_nothing_about_an_allowed_command(double):
    done = double("validate", "--quoted-operators", "ls")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert double.event("validate") == {"event": "validate", "command": "ls", "flags": 1}


@pytest.mark.parametrize("answer, code, said", [
    (1, 126, b"sandcell: Empty command.\n"),
    (-2, 125, b"sandcell: cannot judge the command: some failure\n")])
def test_validate_names_the_violation(double, answer, code, said):
    done = double("validate", "", env={"DOUBLE_VALIDATE": str(answer)})
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", said)


def test_validate_as_json(double):
    done = double("validate", "--json", "ls")
    assert (done.returncode, json.loads(done.stdout)) == (
        0, {"command": "ls", "allowed": True, "violation": None})
    done = double("validate", "--json", "a\"b", env={"DOUBLE_VALIDATE": "1"})
    schema.check(json.loads(done.stdout), schema.VERDICT)
    assert (done.returncode, json.loads(done.stdout)) == (
        126, {"command": "a\"b", "allowed": False, "violation": "Empty command."})
    done = double("validate", "--json", os.fsdecode(b"\xff"), env={"DOUBLE_VALIDATE": "1"})
    assert json.loads(done.stdout)["command"] is None


@pytest.mark.parametrize("command, code", [
    ("ls -l | head -3", 0), ("rm x", 126), ("ls; ls", 126), ("", 126)])
def test_validate_needs_no_engine(program, command, code):
    done = program("validate", command, env={"SANDCELL_HOST": "unix:///no/such.sock"})
    assert done.returncode == code
    assert done.stderr.count(b"\n") == (code != 0)


def test_validate_wants_one_argument(program):
    assert program("validate").returncode == 2
    assert program("validate", "ls", "-l").returncode == 2
