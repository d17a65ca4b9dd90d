"""Words: globs as a POSIX shell expands them, variables that stay one word, names that stay names."""

import os
import subprocess

import pytest
from _sandcell import expand
from judge import Refused, judge

NAMES = [
    "a.c", "b.c", "-rf", "--", "--help", "+x", "(", "!", "x=y", "h:t", "@opts", ".hid", ".hid.c", "sp ace.c",
    "ünï.c", "sub/one.c", "sub/two.h", "sub/.dot.c", "deep/er/x.c", "[b]", "a-z", "A", "Z", "0", "*star", "q?mark",
    "back\\slash.c",
]  # fmt: skip
GLOBS = [
    "*", "*.c", "?", "??", "[ab].c", "[!a].c", "[^a].c", "[a-z]", "[[:upper:]]", "[[:digit:]]", "[[:punct:]]*", ".*.c",
    "*/", "*/*", "*/*.c", "*/er", "*/er/*.c", "sub/*", "sub/[!o]*", "./*.c", "[]a]*", "[b-]*", "a[-]z", "[", "a[", "[]",
    "*\\**", "'*'*", "\\**", "*'?'*", "*[?]*", "[\"b\"]*", "[a'-'z]*", "*nothing*", "a.c/", "x*/..", "s*b/one.c", "*ü*", "???.c",
    "back*", "*\\\\*", "[[:alpha:][:digit:]].c", "[[:nope:]]", "[z-a]*", "d*/e?/[x]*",
]  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch):
    for name in NAMES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(command, flags=0, **variables):
    (pipeline,) = judge.form(command, flags)["pipelines"]
    return [word.decode() for word in expand.words(pipeline[0]["argv"], variables)[1:]]


def as_names(found):
    return [expand.as_name(word.encode(), True).decode() for word in found]


@pytest.mark.parametrize("pattern", GLOBS)
def test_globs_match_what_bash_matches(place, pattern):
    script = "printf '%%s\\0' %s" % pattern
    shell = subprocess.run(
        ["bash", "-c", script], env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin"}, capture_output=True, check=True
    )
    theirs = shell.stdout.decode().split("\0")[:-1]
    assert words("echo " + pattern) == as_names(theirs)


def test_a_name_from_a_glob_is_never_an_option(place):
    assert "./-rf" in words("ls *") and "./--help" in words("ls *")
    assert {"./+x", "./(", "./!", "./x=y", "./h:t", "./@opts"} <= set(words("ls *"))
    assert [word for word in words("ls *") if word[0] in "-+(!@"] == []


def test_an_option_word_is_not_globbed(place):
    (place / "--include=a.c").touch()
    assert words("grep -r --include=*.c x .") == ["-r", "--include=*.c", "x", "."]


def test_patterns_and_programs_are_not_globbed(place):
    assert words("find . -name *.c") == [".", "-name", "*.c"]
    assert words("grep a*c f") == ["a*c", "f"]
    assert words("sed s/a*/b/ f") == ["s/a*/b/", "f"]


def test_a_variable_is_one_word_and_no_pattern(place):
    assert words("ls $X", X="a b *.c") == ["a b *.c"]
    assert words('ls "$X"y', X="a  b") == ["a  by"]


def test_a_variable_that_is_not_set_is_an_empty_word():
    assert words("ls $X a") == ["", "a"]


def test_a_variable_never_becomes_an_option():
    assert words("ls $X", X="-la") == ["./-la"]
    assert words('ls ""$X', X="-la") == ["./-la"]
    assert words("echo $X", X="-n") == ["-n"]
    with pytest.raises(expand.ExpandError, match="would be an option"):
        words("grep $X f", X="-f/etc/shadow")


def test_a_variable_never_becomes_an_operator_or_a_host():
    assert words("find $X", X="!") == ["./!"]
    assert words("awk 1 $X", X="FS=x") == ["1", "./FS=x"]
    assert words("cat $X", X="/a=b") == ["/a=b"]


def test_home_is_an_absolute_folder():
    assert words("ls ~ ~/x a~", HOME="/h") == ["/h", "/h/x", "a~"]
    with pytest.raises(expand.ExpandError):
        words("ls ~", HOME="h:x")


def test_one_file_is_wanted_where_a_second_would_be_written(place):
    assert words("uniq a.*") == ["a.c"]
    with pytest.raises(expand.ExpandError, match="names 2 files"):
        words("uniq [ab].c")
    with pytest.raises(expand.ExpandError, match="names 2 files"):
        words("xxd [ab].c")


def test_an_archive_from_a_glob_is_local(place):
    assert words("tar -tf h*") == ["-tf", "./h:t"]
    with pytest.raises(Refused):
        words("tar -tf $X")


def test_a_pattern_of_many_stars_takes_no_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ("a" * 250)).touch()
    assert words("echo " + "*a" * 100 + "*b") == ["*a" * 100 + "*b"]


def test_too_many_names_are_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(100):
        (tmp_path / ("%03d" % number + "n" * 200)).mkdir()
        (tmp_path / ("%03d" % number + "n" * 200) / ("m" * 200)).mkdir()
    with pytest.raises(expand.ExpandError, match="longer than"):
        words("echo " + "*/* " * 60)


def test_names_that_are_not_utf8_survive(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.close(os.open(b"x\xff\xfe.c", os.O_CREAT))
    (pipeline,) = judge.form("ls *.c")["pipelines"]
    assert expand.words(pipeline[0]["argv"], {})[1:] == [b"x\xff\xfe.c"]
