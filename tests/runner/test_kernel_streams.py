"""Descriptors 0, 1, 2 and the Python streams on them are in order at the start of each cell."""

import pytest
from harness import KernelDied


@pytest.mark.parametrize(
    "damage",
    [
        "import sys, io\nsys.stdout = io.StringIO(); sys.stderr = io.StringIO()\nprint('swallowed')",
        "import sys\nsys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
        "import sys\nsys.stdout = sys.stderr = sys.stdin = None",
        "import sys\ndel sys.stdout, sys.stderr, sys.stdin",
        "import sys\nsys.stdout.detach(); sys.stderr.detach()",
        "import sys\nsys.stdout.buffer.close(); sys.stderr.buffer.raw.close()",
        "import sys\nclass Sink:\n    def write(self, s): pass\nsys.stderr = sys.stdout = Sink()",
        "import sys\nclass Bad:\n    def __getattr__(self, n): raise SystemExit(n)\nsys.stdout = sys.stderr = Bad()",
        "import sys\nclass Bad:\n    def flush(self): raise KeyError(1)\nsys.stdout = sys.stderr = Bad()",
        "import os\nos.close(0); os.close(1); os.close(2)",
        "import os\nos.closerange(0, 64)",
        "import os\nr, w = os.pipe(); os.close(r); os.dup2(w, 1); os.dup2(w, 2)\nprint('x' * 100000, flush=True)",
        "import os\nr, w = os.pipe(); os.close(r); os.dup2(w, 1)\nprint('no newline', end='')",
        "import os\nfd = os.open('/dev/full', os.O_WRONLY); os.dup2(fd, 1)\nprint('nothing', end='')",
        "import os\nfor fd in (1, 2): os.set_blocking(fd, False)",
        "import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-16')",
        "import sys, codecs\nsys.stdout = codecs.getwriter('utf-8')(sys.stdout.detach())",
        "import os\nos.close(1)\nf = open(os.devnull, 'w')",
        "import os\nos.dup2(os.open('/dev/null', os.O_RDWR), 1)",
        "import contextlib, io\nc = contextlib.redirect_stdout(io.StringIO()); c.__enter__()",
    ],
)
def test_the_next_cell_prints(kernel, damage):
    kernel.execute("keep = 1")
    kernel.execute(damage)
    result = kernel.execute(
        "import sys, os, gc\ngc.collect()\nprint('out'); print('err', file=sys.stderr)\n"
        "os.write(1, b'raw'); print(repr(sys.stdin.read()), 'x' * 300000)\nkeep"
    )
    assert result.output == 1
    assert result.stdout == b"out\nraw'' " + b"x" * 300000 + b"\n"
    assert result.stderr == b"err\n"


def test_output_is_bytes_of_two_streams(kernel):
    result = kernel.execute("import sys\nsys.stdout.write('a'); sys.stderr.write('B'); sys.stdout.write('c')")
    assert (result.stdout, result.stderr) == (b"ac", b"B")
    result = kernel.execute("sys.stdout.buffer.write(bytes(range(256)) * 100)")
    assert (result.stdout, result.output) == (bytes(range(256)) * 100, 25600)
    result = kernel.execute("print('a\\r\\nb\\rc', end='\\r\\n')")
    assert result.stdout == b"a\r\nb\rc\r\n"
    assert kernel.execute("print('\\udcff\\xe9')").stdout == b"\xff\xc3\xa9\n"
    result = kernel.execute("print('\\ud800')")
    assert result.status == "error" and "UnicodeEncodeError" in result.error
    result = kernel.execute("print('\\ud800', file=sys.stderr)")
    assert (result.status, result.stderr) == ("ok", b"\\ud800\n")


def test_lines_arrive_while_the_cell_runs(kernel):
    number = kernel.start("import time\nprint('shown')\ntime.sleep(1000)")
    kernel.wait_for_output(b"shown\n")
    kernel.interrupt()
    assert "KeyboardInterrupt" in kernel.wait(number).error


def test_printed_lines_survive_a_kill(kernel):
    kernel.start("import os\nprint('printed')\nos.write(1, b'written')\nos.kill(os.getpid(), 9)")
    with pytest.raises(KernelDied):
        kernel.frame()
    assert kernel.stdout == b"printed\nwritten"


def test_order_of_print_c_and_children(kernel):
    result = kernel.execute(
        "import ctypes, os, subprocess\nlibc = ctypes.CDLL(None)\n"
        "print('1'); libc.puts(b'2'); print('3'); os.system('echo 4'); os.write(1, b'5\\n')\n"
        "subprocess.run(['echo', '6']); libc.printf(b'7\\n'); print('8')"
    )
    assert result.stdout == b"1\n2\n3\n4\n5\n6\n7\n8\n"


def test_c_text_belongs_to_its_cell(kernel):
    result = kernel.execute("import ctypes\nctypes.CDLL(None).printf(b'no newline')")
    assert result.stdout == b"no newline"
    assert kernel.execute("print('other')").stdout == b"other\n"


def test_nothing_of_a_failed_write_reaches_the_next_cell(kernel):
    kernel.execute("import os\nr, w = os.pipe(); os.close(r); os.dup2(w, 1)\nprint('lost', end='')")
    assert kernel.execute("print('ok')").stdout == b"ok\n"


def test_stdin_is_empty(kernel):
    result = kernel.execute(
        "import sys, os, subprocess\n"
        "print(repr(sys.stdin.read()), os.read(0, 10), repr(open('/dev/stdin').read()))\n"
        "print(subprocess.run(['cat'], capture_output=True).stdout)\ninput('? ')"
    )
    assert result.stdout == b"'' b'' ''\nb''\n? "
    assert result.error.endswith("EOFError: EOF when reading a line")


def test_stdin_of_a_call(kernel):
    result = kernel.execute("a = input(); import sys; b = sys.stdin.readline(); (a, b)", stdin=b"one\ntwo\nthree\n")
    assert result.output == "('one', 'two\\n')"
    assert kernel.execute("sys.stdin.read()").output == ""
    big = bytes(range(256)) * 20000
    result = kernel.execute("import hashlib; hashlib.sha1(sys.stdin.buffer.read()).hexdigest()", stdin=big)
    import hashlib

    assert result.output == hashlib.sha1(big).hexdigest()
    result = kernel.execute("import subprocess; subprocess.run(['cat'])", stdin=b"to a child")
    assert result.stdout == b"to a child"
    assert kernel.execute("open('/dev/stdin').read()", stdin=b"by name").output == "by name"
    assert kernel.execute("sys.stdin.read()", stdin=b"").output == ""
    result = kernel.execute("input()", stdin=b"\xff\xfe\n")
    assert result.output == "\udcff\udcfe"


def test_streams_have_real_descriptors(kernel):
    result = kernel.execute(
        "import sys\n[(f.fileno(), f.name, f.mode, f.encoding) for f in (sys.stdin, sys.stdout, sys.stderr)]"
    )
    assert result.output == repr(
        [(0, "<stdin>", "r", "utf-8"), (1, "<stdout>", "w", "utf-8"), (2, "<stderr>", "w", "utf-8")]
    )


def test_logging_goes_on_over_cells(kernel):
    kernel.execute("import logging\nlogging.basicConfig()\nlog = logging.getLogger('x')")
    for _ in range(2):
        result = kernel.execute("log.warning('w')")
        assert result.stderr == b"WARNING:x:w\n"


def test_private_descriptors_are_not_inherited(kernel):
    result = kernel.execute("import subprocess\nsubprocess.run(['ls', '/proc/self/fd'], close_fds=False)")
    assert set(result.stdout.split()) <= {b"0", b"1", b"2", b"3"}
    result = kernel.execute("sorted(int(x) for x in __import__('os').listdir('/proc/self/fd'))[:4]")
    assert result.output[:3] == [0, 1, 2] and result.output[3] < 10


def test_descriptors_do_not_leak(kernel):
    count = "len(__import__('os').listdir('/proc/self/fd'))"
    before = kernel.execute(count).output
    for _ in range(20):
        kernel.execute("import sys; sys.stdout.close(); sys.stdin.read()", stdin=b"x" * 1000)
        kernel.execute("import os; os.close(1)")
        kernel.execute("1/0")
    assert kernel.execute(count).output == before
