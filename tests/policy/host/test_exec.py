"""The executor: what a pipeline does, answers and leaves behind."""

import os
import signal

import pytest
from _sandcell import drop
from runner import Runner, wait_for

LANDLOCK = drop.landlock_abi() >= 2


def test_output_and_exit_code_come_back(cli):
    found = cli.run("echo hello")
    assert (found.stdout, found.stderr, found.code, found.stages, found.error) == (b"hello\n", b"", 0, [0], "")


def test_stdout_and_stderr_are_apart(cli, place):
    (place / "there").write_text("x\n")
    found = cli.run("cat there missing")
    assert found.stdout == b"x\n"
    assert b"missing" in found.stderr
    assert found.code == 1


def test_a_pipeline_ends_with_the_code_of_its_last_stage(cli):
    found = cli.run("cat /nonexistent | wc -c")
    assert (found.stdout, found.code, found.stages) == (b"0\n", 0, [1, 0])


def test_and_stops_at_the_first_failure(cli):
    found = cli.run("ls /nonexistent && echo no")
    assert (found.stdout, found.code, found.stages) == (b"", 2, [2])


def test_and_goes_on_after_success(cli):
    found = cli.run("echo -n x && echo y | cat && grep z /dev/null && echo no")
    assert (found.stdout, found.code, found.stages) == (b"xy\n", 1, [0, 0, 0, 1])


def test_grep_without_a_match_is_exit_1(cli, place):
    (place / "f").write_text("a\n")
    assert cli.run("grep b f").code == 1


def test_stdin_is_empty(cli):
    found = cli.run("wc -c")
    assert (found.stdout, found.code) == (b"0\n", 0)


def test_a_reader_that_leaves_ends_the_writer(cli, place):
    (place / "big").write_bytes(b"line\n" * 1_000_000)
    found = cli.run("cat big | head -n 2")
    assert found.stdout == b"line\nline\n"
    assert found.stages == [128 + signal.SIGPIPE, 0]


def test_bytes_pass_through_a_pipeline_unharmed(cli, place):
    data = os.urandom(3_000_000)
    (place / "f").write_bytes(data)
    assert cli.run("cat f | cat | cat").stdout == data


def test_a_program_that_is_missing_is_127(place, tmp_path):
    from _sandcell import cli as module

    assert module.run_pipeline([[b"ls"]], {}, (str(tmp_path),)) == [127]


def test_words_too_long_for_execve_are_an_error_not_a_crash(cli, place):
    for number in range(3000):
        (place / ("%04d" % number + "x" * 240)).touch()
    found = cli.run("echo * * *")
    assert found.code == 126
    assert b"Argument list too long" in found.stderr or "longer than" in found.error


def test_programs_never_come_from_the_working_folder(cli, place):
    for name in ("ls", "which", "cat"):
        (place / name).write_text("#!/bin/sh\necho PLANTED\n")
        (place / name).chmod(0o755)
    assert b"PLANTED" not in cli.run("ls").stdout
    assert cli.run("which ls").stdout == b"/usr/bin/ls\n"


def test_the_environment_is_clean(place, tmp_path):
    cli = Runner(
        place, tmp_path / "s",
        {"POSIXLY_CORRECT": "1", "LD_PRELOAD": "/x.so", "TAR_OPTIONS": "-x", "PATH": "/x", "TZ": "UTC", "MINE": "1"},
    )  # fmt: skip
    seen = cli.run("jq -nc 'env | keys'").stdout
    assert b"POSIXLY" not in seen and b"LD_" not in seen and b"TAR" not in seen and b"MINE" not in seen
    assert b'"TZ"' in seen
    shown = cli.run("env").stdout.decode()
    assert "MINE=1\n" in shown
    assert "PATH=/usr/bin:/bin\n" in shown
    assert "LD_PRELOAD" not in shown


def test_options_are_read_as_judged_whatever_the_session_says(place, tmp_path):
    (place / "f").write_text("b\na\n")
    cli = Runner(place, tmp_path / "s", {"POSIXLY_CORRECT": "1"})
    assert cli.run("sort f -r").stdout == b"b\na\n"


def test_home_files_do_not_change_what_commands_say(place, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".jq").write_text('def length: "HIJACK";')
    (home / ".magic").write_text("0 string a HIJACK\n")
    (place / "f").write_text("abc\n")
    cli = Runner(place, tmp_path / "s", {"HOME": str(home)})
    assert cli.run("jq -n '[1] | length'").stdout == b"1\n"
    assert b"HIJACK" not in cli.run("file f").stdout


def test_which_answers_like_the_program(cli):
    assert cli.run("which -a ls").stdout == b"/usr/bin/ls\n/bin/ls\n"
    found = cli.run("which ls nothing | wc -l")
    assert (found.stdout, found.stages) == (b"1\n", [1, 0])
    assert cli.run("which /usr/bin/env").stdout == b"/usr/bin/env\n"
    assert cli.run("which").code == 1


def test_which_dies_of_a_closed_pipe(cli):
    words = " ".join(["ls"] * 4000)
    found = cli.run("which %s | head -n 1" % words)
    assert found.stdout == b"/usr/bin/ls\n"
    assert found.stages[0] in (0, 128 + signal.SIGPIPE)


# ---- the place to write


def test_tmpdir_is_private(cli, tmp_path):
    found = cli.run("printenv TMPDIR && stat -c %a $TMPDIR")
    path, mode = found.stdout.decode().split()
    assert path.startswith(str(tmp_path / "scratch"))
    assert mode == "700"


def left_in(scratch):
    return [name for folder in os.listdir(scratch) for name in os.listdir(scratch / folder)]


def test_sort_spills_to_tmpdir(cli, place, tmp_path):
    lines = [b"%07d\n" % (number * 7919 % 1_000_003) for number in range(300_000)]
    (place / "f").write_bytes(b"".join(lines))
    found = cli.run("sort -S 1M f")
    assert found.code == 0
    assert found.stdout == b"".join(sorted(lines))
    assert left_in(tmp_path / "scratch") == []


def test_what_a_killed_call_left_is_cleared_by_the_next(cli, tmp_path):
    leader = cli.start("cat /dev/urandom | sort -S 100k")
    wait_for(lambda: list((tmp_path / "scratch").glob("*/*")), "a temporary file")
    leader.kill()
    leader.process.wait()
    cli.run("echo")
    assert left_in(tmp_path / "scratch") == []
    assert len(os.listdir(tmp_path / "scratch")) == 1


def test_leftovers_of_a_program_are_killed(cli, place):
    from runner import Leader

    form = {"pipelines": [[{"argv": ["env", "bash", "-c", "sleep 1000 & echo $!"]}]]}
    found = Leader(form, cli.cwd, cli.env, cli.scratch).wait()
    assert found.reusable
    assert not os.path.exists("/proc/%d" % int(found.stdout))


@pytest.mark.skipif(not LANDLOCK, reason="no Landlock in this kernel")
class TestLandlock:
    """The second line: the table is bypassed here by writing forms by hand."""

    def run(self, cli, *argvs):
        from runner import Leader

        form = {"pipelines": [[{"argv": list(argv)} for argv in argvs]]}
        return Leader(form, cli.cwd, cli.env, cli.scratch).wait()

    def test_it_is_reported(self, cli):
        assert cli.run("echo").landlock is True

    @pytest.mark.parametrize(
        "argv",
        [
            ["sort", "-o", "p", "f"],
            ["sed", "-i", "s/a/b/", "f"],
            ["sed", "w p", "f"],
            ["awk", 'BEGIN{print > "p"}'],
            ["awk", 'BEGIN{system("touch p")}'],
            ["find", ".", "-exec", "touch", "p", ";"],
            ["find", ".", "-delete"],
            ["tar", "-cf", "p", "f"],
            ["uniq", "f", "p"],
            ["env", "touch", "p"],
            ["env", "mkdir", "p"],
            ["env", "mv", "f", "p"],
            ["env", "ln", "f", "p"],
            ["env", "truncate", "-s0", "f"],
        ],
        ids=" ".join,
    )
    def test_nothing_can_be_written(self, cli, place, argv):
        (place / "f").write_text("a\nb\n")
        self.run(cli, argv)
        assert sorted(os.listdir(place)) == ["f"]
        assert (place / "f").read_text() == "a\nb\n"

    def test_nothing_outside_the_trusted_folders_runs(self, cli, place):
        (place / "evil").write_text("#!/bin/sh\necho EVIL\n")
        (place / "evil").chmod(0o755)
        found = self.run(cli, ["env", "./evil"])
        assert b"EVIL" not in found.stdout
        assert b"Permission denied" in found.stderr

    def test_tmpdir_stays_writable(self, cli):
        found = self.run(cli, ["awk", 'BEGIN{f = ENVIRON["TMPDIR"] "/x"; print 1 > f; close(f); getline y < f; print y}'])
        assert found.stdout == b"1\n"


# ---- killing


def test_killing_the_session_ends_every_stage(cli):
    leader = cli.start("cat /dev/zero | cat | wc -c")
    pid = leader.process.pid
    alive = lambda: [p for p in map(int, filter(str.isdigit, os.listdir("/proc"))) if _session(p) == pid]  # noqa: E731
    wait_for(lambda: len(alive()) == 4, "three stages and their leader")
    leader.kill()
    leader.process.wait()
    wait_for(lambda: not alive(), "their end")


def _session(pid):
    try:
        return os.getsid(pid)
    except OSError:
        return None


def test_stages_have_default_signals_and_an_empty_mask(cli):
    found = cli.run("grep -E '^Sig(Blk|Ign)' /proc/self/status")
    of_libc = 1 << 31 | 1 << 32  # 32 and 33: nobody can set them
    assert [int(line.split()[1], 16) & ~of_libc for line in found.stdout.splitlines()] == [0, 0]


def test_stages_inherit_no_descriptors(cli):
    assert cli.run("ls /proc/self/fd | cat").stdout.split() == [b"0", b"1", b"2", b"3"]
