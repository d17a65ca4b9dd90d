"""snapshot and restore through a real container: state goes from one session into another."""

import json

import pytest
import streams


def save(client, **fields):
    data, outcome = streams.download(client, "snapshot", **fields)
    assert outcome.status == "ok", outcome
    return data, json.loads(outcome.parts["report"]), outcome


def restore(client, data, **fields):
    upload = streams.Upload(client, "restore", **fields)
    upload.send(data)
    outcome = upload.end()
    assert outcome.status == "ok", outcome
    return json.loads(outcome.parts["report"])


def skipped(report):
    return {entry["name"]: entry["reason"] for entry in report["skipped"]}


@pytest.fixture
def fresh(cell):
    assert cell.client.call("reset").status == "ok"
    return cell


def carry(cell, code, then):
    """Runs code, saves, forgets everything, restores, and gives what `then` prints."""
    result = cell.run(code)
    assert result.status == "ok", result
    data, _, _ = save(cell.client)
    cell.client.call("reset")
    report = restore(cell.client, data)
    assert report["skipped"] == []
    result = cell.run(then)
    assert result.status == "ok", result
    return result.out[1].decode()


def test_unpicklable_names_are_left_out_and_named(fresh):
    fresh.run(
        "import threading, socket\n"
        "good = {'k': [1, 2]}\n"
        "lk = threading.Lock()\n"
        "gen = (i for i in range(3))\n"
        "sk = socket.socket()\n"
        "fh = open('/etc/hostname')\n"
        "nested = [1, [lk]]\n"
        "alias = nested\n"
        "lam = lambda v: v + good['k'][0]"
    )
    data, report, _ = save(fresh.client)
    assert set(skipped(report)) == {"lk", "gen", "sk", "fh", "nested", "alias"}
    assert "lock" in skipped(report)["nested"]
    fresh.client.call("reset")
    report = restore(fresh.client, data)
    assert set(report["names"]) == {"threading", "socket", "good", "lam"}
    assert {entry["name"] for entry in report["missing"]} == {"lk", "gen", "sk", "fh", "nested", "alias"}
    result = fresh.run("print(good, 'lk' in globals(), lam(1))\ngood['k'][0] = 5\nprint(lam(1))")
    assert result.out[1] == b"{'k': [1, 2]} False 2\n6\n"


def test_instances_belong_to_their_class(fresh):
    code = "class P:\n    pass\np = P()\nq = [P(), P()]"
    assert carry(fresh, code, "print(isinstance(p, P), all(type(z) is P for z in q))") == "True True\n"


def test_imports_and_functions_that_use_them(fresh):
    code = (
        "import json as j, os.path as op, xml.dom.minidom\n"
        "from math import sqrt as r\n"
        "def enc(v): return j.dumps(v) + str(r(4))"
    )
    then = "print(enc([1]), op.basename('/x/y'), xml.dom.minidom.__name__)"
    assert carry(fresh, code, then) == "[1]2.0 y xml.dom.minidom\n"


def test_nested_data_and_odd_objects_do_not_end_the_save(fresh):
    fresh.run(
        "class G:\n    def __getattr__(self, k): return getattr(self, k)\n"
        "g = G()\n"
        "d = []\n"
        "for _ in range(200000): d = [d]\n"
        "class S:\n    def __reduce__(self): raise SystemExit(9)\n"
        "s1 = S()\n"
        "class T:\n    def __getstate__(self): raise NotImplementedError\n"
        "t1 = T()\n"
        "class K:\n    def __reduce__(self): raise KeyboardInterrupt\n"
        "k1 = K()\n"
        "deep = None\n"
        "for i in range(5000): deep = (deep, i)\n"
        "ok = 1"
    )
    data, report, _ = save(fresh.client)
    found = skipped(report)
    assert found["d"] == "nested too deeply"
    assert found["s1"] == "SystemExit(9)"
    assert found["t1"] == "NotImplementedError: NotImplementedError"
    assert "k1" in found
    assert "deep" not in found
    fresh.client.call("reset")
    report = restore(fresh.client, data)
    assert "ok" in report["names"]
    assert fresh.run("print(ok, deep[0][1])").out[1] == b"1 4998\n"


def test_the_session_goes_on_meanwhile(fresh):
    fresh.run("import os, time\nclass Slow:\n    def __reduce__(self):\n        time.sleep(1); return (int, ())\nx = Slow()")
    other = fresh.attach()
    number = other.send("snapshot")
    assert fresh.run("'still here'").output == '"still here"'
    assert other.wait(number).status == "ok"
    other.close()


def test_what_else_comes_along(fresh):
    code = (
        "import os, random, sys\n"
        "random.seed(5); os.makedirs('sub', exist_ok=True); os.chdir('sub'); os.environ['MINE'] = 'x y'\n"
        "del os.environ['USER']; sys.path.append('/workspace/lib'); save_result('r', {'a': 1})\n"
        "def f():\n    return random.random()"
    )
    then = (
        "print(os.getcwd(), os.environ['MINE'], 'USER' in os.environ, sys.path[-1], f())\n"
        "import inspect\nprint(inspect.getsource(f))"
    )
    out = carry(fresh, code, then)
    import random

    random.seed(5)
    first = "/workspace/sub x y False /workspace/lib %r\n" % random.random()
    assert out == first + "def f():\n    return random.random()\n\n"
    history = json.loads(fresh.client.call("history").parts["history"])
    assert [entry["code"] for entry in history] == [code, then]


def test_a_restore_replaces(fresh):
    fresh.run("a = 1")
    data, _, _ = save(fresh.client)
    fresh.run("b = 2")
    restore(fresh.client, data)
    assert fresh.run("sorted(n for n in globals() if len(n) == 1)").output == '["a"]'


def test_a_bad_state_changes_nothing(fresh):
    fresh.run("a = 1")
    data, _, _ = save(fresh.client)
    fresh.run("a = 2")
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 0xFF
    for bad, end in ((data[:-20], {}), (bytes(damaged), {}), (b"", {}), (b"x" * 1000, {}), (data, {"sha256": "0"})):
        upload = streams.Upload(fresh.client, "restore")
        upload.send(bad)
        outcome = upload.end(**end)
        if bad == bytes(damaged) and outcome.status == "ok":
            fresh.run("a = 2")  # a flip inside of a text is for the client's hashes to find
            continue
        assert outcome.status == "error", (bad[:20], outcome)
        assert outcome.header["state_preserved"] is True
    upload = streams.Upload(fresh.client, "restore")
    upload.send(data)
    assert upload.end(abort=True).status == "interrupted"
    assert fresh.run("a").output == "2"


def test_a_client_that_leaves_in_the_middle_of_a_restore_changes_nothing(fresh):
    fresh.run("a = 1; filler = bytes(3 << 20)")
    data, _, _ = save(fresh.client)
    fresh.run("a = 2")
    other = fresh.attach()
    upload = streams.Upload(other, "restore")
    upload.send(data[: len(data) // 2])
    other.close()
    assert fresh.run("a").output == "2"


def test_calls_wait_for_a_restore(fresh):
    fresh.run("a = 1")
    data, _, _ = save(fresh.client)
    fresh.run("a = 2")
    other = fresh.attach()
    upload = streams.Upload(other, "restore")
    while upload.number not in fresh.client.call("stat").header["running"]:
        pass
    number = fresh.client.start("a")
    upload.send(data)
    assert upload.end().status == "ok"
    assert fresh.client.wait(number).output == "1"
    other.close()


def test_processes_of_the_old_state_are_gone(fresh):
    data, _, _ = save(fresh.client)
    fresh.run("import subprocess; p = subprocess.Popen(['sleep', '1000'], start_new_session=True)")
    restore(fresh.client, data)
    assert fresh.client.call("stat").header["processes"] == 1


def test_large_values_go_through(fresh):
    code = "big = bytearray(b'0123456789abcdef') * (1 << 20)\nlist_ = ['%d' % i for i in range(200000)]\nother = big"
    then = "print(len(big), big[:16], len(list_), list_[-1], other is big, type(big))"
    assert carry(fresh, code, then) == (
        "16777216 bytearray(b'0123456789abcdef') 200000 199999 True <class 'bytearray'>\n"
    )


def test_a_value_that_fails_after_much_of_it_was_sent(fresh):
    fresh.run("import threading\nbig = [bytes(9 << 20), threading.Lock()]\nshared = big[0]\nz = [shared, 7]")
    data, report, _ = save(fresh.client)
    assert set(skipped(report)) == {"big"}
    fresh.client.call("reset")
    restore(fresh.client, data)
    assert fresh.run("[len(shared), z[0] is shared, z[1]]").output == "[9437184, true, 7]"


def test_a_value_that_cannot_be_loaded_takes_only_its_own_with_it(fresh):
    fresh.run(
        "import os\n"
        "class Bad:\n    def __setstate__(self, state): raise ValueError('no')\n"
        "inner = ['in', 'ner']\n"
        "bad = Bad(); bad.inner = {'x': 1}\n"
        "user = [bad.inner, 1]\n"
        "after = {'fine': [1, 2, 3]}\n"
        "last = after['fine']"
    )
    data, report, _ = save(fresh.client)
    assert report["skipped"] == []
    fresh.client.call("reset")
    report = restore(fresh.client, data)
    assert "bad" in skipped(report)
    assert skipped(report)["bad"] == "ValueError: no"
    assert fresh.run("[inner, after, last is after['fine']]").output == '[["in", "ner"], {"fine": [1, 2, 3]}, true]'
    assert set(skipped(report)) == {"bad", "user"}


def test_a_fork_that_crashes_is_named(fresh):
    fresh.run("import signal\nclass C:\n    def __reduce__(self): signal.raise_signal(11)\nc = C(); a = 1")
    _, outcome = streams.download(fresh.client, "snapshot")
    assert outcome.status == "error"
    assert outcome.header["stopped_at"] == "c"
    assert "killed by signal 11" in outcome.error
    _, report, _ = save(fresh.client, exclude=["c"])
    assert report["excluded"] == ["c"]
    assert report["threads"] == []
    assert fresh.run("a").output == "1"


def test_a_fork_that_stands_still_is_given_up(fresh):
    fresh.run("import threading\nclass C:\n    def __reduce__(self): threading.Lock().__enter__(); import time; time.sleep(1000)\nc = C()")
    _, outcome = streams.download(fresh.client, "snapshot", stall_ms=200)
    assert outcome.status == "error"
    assert outcome.header["stalled"] is True


def test_the_kernel_itself_can_save(fresh):
    fresh.run("a = [1, 2]")
    data, report, outcome = save(fresh.client, inline=True)
    assert outcome.header["forked"] is False
    assert fresh.run("a").output == "[1, 2]"
    fresh.run("a = 0")
    restore(fresh.client, data)
    assert fresh.run("a").output == "[1, 2]"


def test_saving_can_be_interrupted(fresh):
    fresh.run("import time\nclass C:\n    def __reduce__(self): time.sleep(1000)\nc = C(); a = 1")
    for inline in (False, True):
        number = fresh.client.send("snapshot", inline=inline, timeout_ms=300)
        assert fresh.client.wait(number).status == "timeout"
        assert fresh.run("a").output == "1"


def test_an_interrupt_reaches_a_restore(fresh):
    fresh.run("import time\nclass C:\n    def __setstate__(self, s): time.sleep(1000)\nc = C(); c.x = 1; a = 1")
    data, _, _ = save(fresh.client)
    upload = streams.Upload(fresh.client, "restore", timeout_ms=500)
    upload.send(data)
    assert upload.end().status == "timeout"
    assert fresh.run("a").output == "1"


def test_what_leftovers_do_to_the_old_kernel_is_no_matter_to_a_restore(fresh):
    fresh.run("a = 1")
    data, _, _ = save(fresh.client)
    fresh.run("import os, threading; threading.Timer(0.2, lambda: os.kill(os.getpid(), 9)).start()")
    upload = streams.Upload(fresh.client, "restore")
    fresh.attach().run  # another client may come meanwhile
    import time

    time.sleep(0.5)
    upload.send(data)
    assert upload.end().status == "ok"
    assert fresh.run("a").output == "1"


def test_closures_share_what_they_shared(fresh):
    code = (
        "def counter():\n"
        "    n = 0\n"
        "    def up():\n        nonlocal n; n += 1; return n\n"
        "    def get(): return n\n"
        "    return up, get\n"
        "up, get = counter(); up()\n"
        "def fact(n): return 1 if n < 2 else n * fact(n - 1)\n"
        "def outer():\n    def rec(n): return 1 if n < 2 else n * rec(n - 1)\n    return rec\n"
        "rec = outer()"
    )
    assert carry(fresh, code, "up(); print(up(), get(), fact(5), rec(5))") == "3 3 120 120\n"


def test_classes_of_many_kinds(fresh):
    code = (
        "import abc, collections, dataclasses, enum, functools, typing\n"
        "class Base(abc.ABC):\n    __slots__ = ('__dict__',)\n    @abc.abstractmethod\n    def f(self): ...\n    @property\n    def p(self): return 'p'\n"
        "class Child(Base):\n    __slots__ = ('x', '__weakref2')\n    def f(self): return super().p\n"
        "    @classmethod\n    def make(cls): return cls()\n    @staticmethod\n    def s(): return 's'\n"
        "    @functools.cached_property\n    def c(self): return [1]\n"
        "@dataclasses.dataclass\nclass D:\n    a: int\n    b: list = dataclasses.field(default_factory=list)\n"
        "class Color(enum.Enum):\n    RED = 1\n    ALSO_RED = 1\n    def hi(self): return self.name\n"
        "class Flags(enum.IntFlag):\n    A = 1\n    B = 2\n"
        "Point = collections.namedtuple('Point', 'x y')\n"
        "class Typed(typing.NamedTuple):\n    x: int = 3\n"
        "T = typing.TypeVar('T')\n"
        "class Box(typing.Generic[T]):\n    def __init__(self, v: T): self.v = v\n"
        "class Meta(type):\n    def __new__(m, n, b, d): d.setdefault('made', n); return super().__new__(m, n, b, d)\n"
        "class WithMeta(metaclass=Meta): pass\n"
        "@functools.lru_cache(maxsize=7)\ndef cached(n): return n * 2\n"
        "c, d, r, p, t, box = Child(), D(1), Color.RED, Point(1, 2), Typed(), Box([1])\n"
        "c.x = 4; fl = Flags.A | Flags.B\n"
        "@functools.singledispatch\ndef sd(x): return 'any'\n"
        "@sd.register\ndef _(x: int): return 'int'\n"
        "part = functools.partial(cached, 4)\n"
        "m = c.f"
    )
    then = (
        "print(c.f(), c.x, Child.make().p, Child.s(), c.c, m())\n"
        "print(D(1) == d, D(2).b, dataclasses.fields(D)[0].name, dataclasses.replace(d, a=5))\n"
        "print(r is Color.RED, Color.ALSO_RED is r, r.hi(), Color(1), fl is Flags(3), Flags.B in fl)\n"
        "print(p, Point(3, 4)._replace(x=9), t, Typed(x=1), box.v, Box[int])\n"
        "print(WithMeta.made, type(WithMeta) is Meta, cached(2), cached.cache_info().maxsize, part())\n"
        "print(sd(1), sd('x'))\n"
        "try: Base()\nexcept TypeError: print('abstract')"
    )
    assert carry(fresh, code, then) == (
        "p 4 p s [1] p\n"
        "True [] a D(a=5, b=[])\n"
        "True True RED Color.RED True True\n"
        "Point(x=1, y=2) Point(x=9, y=4) Typed(x=3) Typed(x=1) [1] __main__.Box[int]\n"
        "WithMeta True 4 7 8\n"
        "int any\n"
        "abstract\n"
    )
