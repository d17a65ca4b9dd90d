"""Code that breaks what it can reach: its own result may suffer, the reply does not."""

import os
import signal

import pytest
from harness import KernelDied


@pytest.mark.parametrize(
    "damage",
    [
        "import builtins\nfor n in ('print', 'len', 'isinstance', 'type', 'repr', 'str', 'range', 'set', 'map', 'list',"
        " 'issubclass', 'getattr', 'hasattr', 'max', 'min', 'sum', 'any', 'dict', 'bytes', 'Exception', 'KeyboardInterrupt',"
        " 'BaseException', 'OSError', 'ValueError', 'AttributeError', 'callable', 'reversed', 'sorted', 'tuple'):\n"
        "    delattr(builtins, n)",
        "import builtins\nfor n in list(vars(builtins)):\n    if n not in ('setattr', 'builtins'): setattr(builtins, n, None)",
        "import builtins\nbuiltins.__dict__.clear()",
        "import sys\nsys.modules.clear()",
        "import sys\nfor n in list(sys.modules): sys.modules[n] = None",
        "import os\nfor n in ('read', 'write', 'getpid', 'dup2', 'close', '_exit', 'open'): setattr(os, n, None)",
        "import posix\nfor n in ('read', 'write', 'getpid', 'dup2', 'close', '_exit', 'open'): setattr(posix, n, None)",
        "import json\njson.dumps = json.loads = json.JSONEncoder = json.JSONDecoder = None\n"
        "json.encoder.c_make_encoder = json.decoder.scanstring = None\n"
        "json.encoder.JSONEncoder.encode = None",
        "import struct, time, io\nstruct.Struct = struct.pack = time.clock_gettime_ns = io.TextIOWrapper = None",
        "import traceback, linecache\nfor m in (traceback, linecache):\n    for n in dir(m):\n"
        "        if not n.startswith('__'): setattr(m, n, None)",
        "import signal, _signal, threading\nsignal.signal = _signal.signal = _signal.pthread_sigmask = None\n"
        "threading.get_ident = threading.Lock = None",
        "import gc\ngc.callbacks.append(lambda *a: 1/0)\ngc.set_threshold(1, 1, 1)",
        "import sys\nsys.setrecursionlimit(60)",
        "import sys\nsys.settrace(lambda *a: 1/0)",
        "import sys\nsys.setprofile(lambda *a: 1/0)",
        "import sys\nsys.setswitchinterval(0.000001)",
        "import sys\nsys.path.clear(); sys.meta_path.clear(); sys.path_hooks.clear()",
        "del __builtins__, __name__, __doc__",
        "globals().clear()",
        "__builtins__ = {}",
        "import os\nos.chdir('/'); os.environ.clear()",
        "import warnings\nwarnings.simplefilter('error')",
        "import sys\nsys.displayhook = sys.excepthook = sys.unraisablehook = None\nsys.argv = 5",
        "import threading\nthreading.excepthook = None\nthreading._active.clear()",
        "import codecs\ncodecs.register_error('surrogateescape', lambda e: 1/0)",
        "import __main__\n__main__.__class__ = type('M', (type(__main__),), {'__getattribute__': lambda s, n: 1/0})",
        "import sys, types\nsys.modules['__main__'] = types.ModuleType('other')",
        "import sys\nsys.dont_write_bytecode = True\nsys.tracebacklimit = 0",
        "import faulthandler, resource\nfaulthandler.disable()",
    ],
)  # fmt: skip
def test_the_reply_path_holds(kernel, damage):
    kernel.execute("keep = 5")
    kernel.execute(damage)
    for code in ("1", "x = 1", "1/0", "object", "'a' * 10", "(1, 2)"):
        result = kernel.execute(code)
        assert result.status in ("ok", "error")
        assert result.status == "error" or result.output in (1, None, "<class 'object'>", "a" * 10, "(1, 2)")
    assert kernel.ask("inspect")[0]["names"] is not None
    assert len(kernel.ask("history")[0]["history"]) == 8


def test_private_frames_cannot_be_reached_by_name(kernel):
    result = kernel.execute("[n for n in globals() if 'sandcell' in n or 'kernel' in n]")
    assert result.output == []


def test_forged_frames_on_low_descriptors_go_nowhere(kernel):
    result = kernel.execute(
        "import os\nfor fd in range(3, 1024):\n    try: os.write(fd, b'\\0' * 64)\n    except OSError: pass\nprint('real')"
    )
    assert (result.status, result.stdout) == ("ok", b"real\n")


def wait_for_end(kernel):
    """Until the kernel has closed its socket; what it still sent."""
    kernel.control.settimeout(60)
    data = b""
    while True:
        try:
            more = kernel.control.recv(1000)
        except ConnectionResetError:
            more = b""
        if not more:
            return data
        data += more


@pytest.mark.parametrize("damage", ["os.closerange(3, 100000)", "[os.close(int(f)) for f in os.listdir('/proc/self/fd') if int(f) > 999]"])
def test_without_its_socket_a_kernel_waits_to_be_killed(kernel, damage):
    kernel.start("import os\n" + damage)
    wait_for_end(kernel)
    os.kill(kernel.pid, 0)
    os.kill(kernel.pid, signal.SIGKILL)
    assert os.WTERMSIG(kernel.reap()) == signal.SIGKILL


def test_without_its_private_streams_a_kernel_gives_up(kernel):
    """The socket holds, so this cell gets its answer; the next one cannot get its streams."""
    kernel.execute("import os")
    fds = sorted(int(fd) for fd in os.listdir("/proc/%d/fd" % kernel.pid) if int(fd) > 900)
    sockets = [fd for fd in fds if os.readlink("/proc/%d/fd/%d" % (kernel.pid, fd)).startswith("socket:")]
    assert len(sockets) == 1 and len(fds) == 4
    kernel.execute("for fd in %r: os.close(fd)" % [fd for fd in fds if fd not in sockets])
    kernel.start("1")
    assert wait_for_end(kernel) == b""
    os.kill(kernel.pid, 0)


def test_fork_that_returns_ends_like_a_program(kernel):
    result = kernel.execute(
        "import os\npid = os.fork()\nif pid == 0:\n    print('child')\nelse:\n    status = os.waitpid(pid, 0)[1]\n    print(status)\npid and 7"
    )
    assert (result.status, result.output) == ("ok", 7)
    assert result.stdout == b"child\n0\n"
    result = kernel.execute("pid = os.fork()\nif pid == 0: 1/0\nos.waitpid(pid, 0)[1] >> 8")
    assert result.output == 1 and b"ZeroDivisionError" in result.stderr
    result = kernel.execute("pid = os.fork()\nif pid == 0: raise SystemExit(9)\nos.waitpid(pid, 0)[1] >> 8")
    assert result.output == 9
    assert kernel.execute("'parent'").output == "parent"


def test_text_is_not_doubled_by_a_fork(kernel):
    result = kernel.execute(
        "import os, sys\nsys.stdout.write('once ')\nif os.fork() == 0:\n    print('child'); os._exit(0)\nos.wait()\nprint('parent')"
    )
    assert result.stdout == b"once child\nparent\n"


def test_children_display_nothing(kernel):
    result = kernel.execute(
        "import os\nclass P:\n    def _repr_html_(self): return 'p'\n"
        "if os.fork() == 0:\n    display(P())\n    os._exit(0)\nos.wait()\ndisplay(P())"
    )
    assert len(result.displays) == 1


def test_multiprocessing(kernel):
    result = kernel.execute(
        "import multiprocessing as mp\ndef sq(v):\n    return v * v\n"
        "with mp.get_context('fork').Pool(2) as p:\n    out = p.map(sq, range(50))\nsum(out)"
    )
    assert (result.status, result.output) == ("ok", sum(v * v for v in range(50)))
    result = kernel.execute(
        "ctx = mp.get_context('spawn')\nq = ctx.Process(target=print, args=('child',)); q.start(); q.join(); q.exitcode"
    )
    assert (result.output, result.stdout) == (0, b"child\n")
    result = kernel.execute(
        "from concurrent.futures import ProcessPoolExecutor as P\n"
        "with P(2, mp_context=mp.get_context('spawn')) as p:\n    out = list(p.map(pow, [2, 3], [5, 5]))\nout"
    )
    assert result.output == [32, 243]
    result = kernel.execute(
        "with P(2, mp_context=mp.get_context('forkserver')) as p:\n    out = list(p.map(pow, [2, 3], [5, 5]))\nout"
    )
    assert result.output == [32, 243]
    result = kernel.execute("from multiprocessing import shared_memory as sm\ns = sm.SharedMemory(create=True, size=10)\ns.close(); s.unlink()")
    assert result.status == "ok"


@pytest.mark.parametrize(
    "code, number",
    [
        ("import ctypes; ctypes.string_at(0)", signal.SIGSEGV),
        ("import os; os.abort()", signal.SIGABRT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", signal.SIGTERM),
        ("import sys\nsys.setrecursionlimit(10**6)\nclass L:\n    def __getattr__(self, k): return getattr(self, k)\nL().q", None),
    ],
)
def test_deaths_are_by_the_signal_itself(kernel, code, number):
    kernel.start("print('before')\n" + code)
    with pytest.raises(KernelDied) as death:
        result = kernel.wait(kernel.next_id)
        assert number is None and result.status == "error"  # a Python that survives endless recursion
        os.kill(kernel.pid, signal.SIGSEGV)
        kernel.frame()
    assert os.WTERMSIG(death.value.status) == (number or signal.SIGSEGV)
    assert kernel.stdout == b"before\n"
    if number in (signal.SIGSEGV, signal.SIGABRT):
        assert b'File "<cell 1>", line 2' in kernel.stderr  # where it was


def test_exit_status_of_os_exit(kernel):
    kernel.start("import os; os._exit(3)")
    with pytest.raises(KernelDied) as death:
        kernel.frame()
    assert os.WEXITSTATUS(death.value.status) == 3


def test_closed_control_socket_ends_the_kernel(kernel):
    kernel.control.close()
    assert kernel.reap() == 0


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_frames_in_any_split(kernel, chunk):
    from harness import frames

    code = ("x = 5\n# " + "y" * 9000 + "\nx").encode()
    header = {"type": "execute", "id": 7, "cell": 1, "parts": [["code", len(code)]]}
    data = frames.pack(header, code)
    for at in range(0, len(data), chunk):
        kernel.control.sendall(data[at : at + chunk])
    assert kernel.wait(7).output == 5


def test_two_frames_at_once(kernel):
    from harness import frames

    first = frames.pack({"type": "execute", "id": 1, "cell": 1, "parts": [["code", 1]]}, b"1")
    second = frames.pack({"type": "execute", "id": 2, "cell": 2, "parts": [["code", 1]]}, b"2")
    kernel.control.sendall(first + second + first[:5])
    assert kernel.wait(1).output == 1
    assert kernel.wait(2).output == 2
    kernel.control.sendall(first[5:])
    assert kernel.wait(1).output == 1


def test_a_large_cell(kernel):
    code = "total = 0\n" + "total += 1\n" * 50_000 + "total"
    assert kernel.execute(code).output == 50_000
    code = "len(%r)" % ("z" * (20 << 20))
    assert kernel.execute(code).output == 20 << 20


@pytest.mark.parametrize(
    "code",
    [
        b"print('\xff')", b"\xef\xbb\xbf\xef\xbb\xbf1", b"x = 1\0\nprint(2)", b"(" * 5000 + b")" * 5000,
        b"-" * 100_000 + b"1", b"a." * 50_000 + b"b", b"[" * 100, b"1+" * 20_000 + b"1", b"f(" * 90 + b")" * 90,
        b"if 1:\n" + b"".join(b" " * n + b"if 1:\n" for n in range(1, 110)), b"x = '" + b"\\" * 10_001,
        b"\x0c1", b"\x1a", b"\r\r\n\n", b"# coding: nonsense\n1", "\u2028".encode(), b"\\", b"\x00",
        b"lambda: " * 3000 + b"1", b"not " * 5000 + b"x", b"x if x else " * 5000 + b"x", b"{" * 200 + b"1" + b"}" * 200,
    ],
)  # fmt: skip
def test_odd_sources_end_in_a_reply(kernel, code):
    try:
        result = kernel.execute(code)
    except KernelDied as death:  # some versions overflow their C stack: a death that is told
        assert os.WIFSIGNALED(death.status)
        return
    assert result.status in ("ok", "error")
    assert kernel.execute("print('ok')").stdout == b"ok\n"


def test_sources_that_work(kernel):
    assert kernel.execute(b"\xef\xbb\xbfprint('bom')").stdout == b"bom\n"
    assert kernel.execute(b"x = 1\r\nif x:\r\n    print('crlf')\r\n").stdout == b"crlf\n"
    assert kernel.execute(b"x = 2\rprint(x)").stdout == b"2\n"
    assert kernel.execute(b"\x0cx = 3\n\x0cprint(x)").stdout == b"3\n"
    assert kernel.execute(b"").output is None
    assert kernel.execute(b"# only a comment").status == "ok"
    error = kernel.execute("'\u2028\x0c\x85'\n1/0").error
    assert "line 2, in <module>\n    1/0" in error


def test_memory_errors_are_errors(kernel):
    result = kernel.execute("import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 30, -1))\nbytearray(1 << 31)")
    assert result.status == "error" and "MemoryError" in result.error
    result = kernel.execute("x = ['y' * (1 << 20) for _ in range(2000)]")
    assert result.status == "error" and "MemoryError" in result.error
    assert kernel.execute("1").output == 1
