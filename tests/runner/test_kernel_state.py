"""One namespace in a real __main__; what a cell gives back; what a session keeps."""

import json

import pytest


def test_one_namespace_for_globals_and_locals(kernel):
    result = kernel.execute(
        "base = 2\nvals = [2, 4]\nprint([v / base for v in vals])\ndef triple():\n    return base * 3\nprint(triple())"
    )
    assert result.stdout == b"[1.0, 2.0]\n6\n"
    assert kernel.execute("globals() is locals() is __import__('__main__').__dict__").output is True


def test_main_is_real(kernel):
    kernel.execute("class P:\n    pass\nimport pickle, sys")
    assert kernel.execute("type(pickle.loads(pickle.dumps(P()))) is P").output is True
    assert kernel.execute("P.__module__").output == "__main__"
    assert kernel.execute("sys.modules['__main__'].P is P").output is True
    assert kernel.execute("(__name__, '__file__' in globals(), __spec__, __doc__)").output == "('__main__', False, None, None)"
    kernel.execute("sys.modules['__main__'] = None")
    assert kernel.execute("import __main__; __main__.P is P").output is True


@pytest.mark.parametrize(
    "code, output",
    [
        ("1 + 1", 2),
        ("x = 1", None),
        ("x = 1\nx + 1", 2),
        ("x = 1; x + 2", 3),
        ("x = 1;\nx;", None),
        ("5;", None),
        ("5 ; # comment", None),
        ("5 # a ; in a comment", 5),
        ("x = '\u00e9;'; x", "\u00e9;"),
        ("(5);", None),
        ("'a;b'", "a;b"),
        ("if True:\n    5", None),
        ("print('p')", None),
        ("None", None),
        ("'''doc'''\n", "doc"),
        ("result = 5", 5),
        ("result: int = 6", 6),
        ("result = 1\nresult += 6", 7),
        ("a = result = [8]", [8]),
        ("result = 5\ny = 1", None),
        ("result: int", None),
        ("result = None", None),
        ("result, y = 1, 2", None),
        ("(y := 9)", 9),
        ("lambda: 0; 5", 5),
        ("def f(): pass", None),
        ("import math\nmath.floor(2.9)", 2),
        ("[1, 2.5, 'a', None, {'k': True}]", [1, 2.5, "a", None, {"k": True}]),
        ("(1, 2)", "(1, 2)"),
        ("assert 1", None),
        ("for i in range(3): i", None),
        ("\n\n  \n5\n\n", 5),
        ("(1,\n 2,\n)[1]", 2),
        ("x = 4\n# the end\nx  # really\n\n# end", 4),
    ],
)
def test_what_a_cell_gives(kernel, code, output):
    result = kernel.execute(code)
    assert (result.status, result.output) == ("ok", output), result


def test_result_of_a_failed_cell_is_nothing(kernel):
    result = kernel.execute("result = 1/0")
    assert (result.status, result.kind, result.raw_output) == ("error", "none", b"")


def test_futures_hold_for_later_cells(kernel):
    kernel.execute("from __future__ import annotations")
    assert kernel.execute("def f(a: undefined_name): pass\nf.__annotations__").output == {"a": "undefined_name"}
    assert kernel.execute("1").output == 1


def test_sources_are_known_to_inspect(kernel):
    kernel.execute("def f():\n    return 1  # here")
    assert kernel.execute("import inspect\ninspect.getsource(f)").output == "def f():\n    return 1  # here\n"
    kernel.execute("linecache = __import__('linecache'); linecache.checkcache()")
    assert kernel.execute("inspect.getsource(f)").status == "ok"


def test_history(kernel):
    kernel.execute("a = 1")
    kernel.execute("1/0")
    kernel.execute("\u00e9 = 'x'")
    answer, _ = kernel.ask("history")
    assert answer["history"] == [
        {"cell": 1, "code": "a = 1"}, {"cell": 2, "code": "1/0"}, {"cell": 3, "code": "\u00e9 = 'x'"},
    ]  # fmt: skip
    for number in range(40):
        kernel.execute("# %d" % number + "z" * 60_000)
    answer, _ = kernel.ask("history")
    assert 0 < len(answer["history"]) < 43 and answer["history"][-1]["code"].startswith("# 39")


def test_inspect_runs_no_user_code(kernel):
    kernel.execute(
        "import math, json as j\nran = []\n"
        "class Meta(type):\n    def __repr__(cls): ran.append('meta'); return 'm'\n"
        "class Spy(metaclass=Meta):\n"
        "    def __repr__(self): ran.append('repr'); return 'spy'\n"
        "    def __sizeof__(self): ran.append('size'); return 1\n"
        "    def __getattr__(self, n): ran.append(n); raise AttributeError(n)\n"
        "    def __len__(self): ran.append('len'); return 1\n"
        "    def __hash__(self): ran.append('hash'); return 1\n"
        "    __class__ = property(lambda self: ran.append('class'))\n"
        "spy = Spy(); held = [spy]; keyed = {'k': (1, spy)}\n"
        "n = 1; text = 'x' * 1000; f = lambda: 0; _hidden = 1; nested = {'a': [1, (2, {3})]}\n"
        "def g(): pass\nran.clear()"
    )
    rows = {row["name"]: row for row in kernel.ask("inspect")[0]["names"]}
    assert kernel.execute("ran").output == []
    assert "_hidden" not in rows and "__builtins__" not in rows and "display" not in rows
    assert rows["n"] == {"name": "n", "type": "int", "repr": "1", "size": 28}
    assert len(rows["text"]["repr"]) == 200 and rows["text"]["size"] > 1000
    assert rows["spy"]["type"] == "Spy" and rows["spy"]["repr"] == "<Spy object>"
    assert rows["held"]["repr"] == "<list object>" and rows["keyed"]["repr"] == "<dict object>"
    assert rows["nested"]["repr"] == "{'a': [1, (2, {3})]}"
    assert rows["j"]["repr"] == "<module 'json'>" and rows["Spy"]["repr"] == "<class 'Spy'>"
    assert rows["g"]["repr"] == "<function g>"
    short = kernel.ask("inspect", names=True)[0]["names"]
    assert {"name": "n", "type": "int"} in short


def test_inspect_is_bounded(kernel):
    kernel.execute("for i in range(20000): globals()['n%d' % i] = 'x' * 300")
    rows = kernel.ask("inspect")[0]["names"]
    assert 1000 < len(rows) <= 5000
    kernel.execute("globals()[5] = 1; globals()['\\ud800'] = 1; globals()['not a name'] = 2")
    assert kernel.ask("inspect")[0]["names"]


def complete(kernel, code, cursor=None):
    fields = {} if cursor is None else {"cursor": cursor}
    answer, header = kernel.ask("complete", {"code": code.encode()}, **fields)
    return answer["matches"], header["start"]


def test_completion(kernel):
    kernel.execute(
        "import math, os.path\nran = []\nblue = 1; bluebird = {'x': 1}\n"
        "class T:\n    klass = 1\n    def method(self): pass\n"
        "    @property\n    def prop(self): ran.append(1); return math\n"
        "    def __getattr__(self, n): ran.append(n); raise AttributeError\n"
        "    def __dir__(self): ran.append('dir'); return []\n"
        "    __class__ = property(lambda self: ran.append('class'))\n"
        "    @staticmethod\n    def st(): pass\n"
        "t = T(); t.attr = math"
    )
    assert complete(kernel, "blu") == (["blue", "bluebird"], 0)
    assert complete(kernel, "x = blu", 7) == (["blue", "bluebird"], 4)
    assert complete(kernel, "y = (math.sq") == (["math.sqrt"], 5)
    assert complete(kernel, "math.flo\nnext line", 8) == (["math.floor"], 0)
    assert complete(kernel, "os.path.basen") == (["os.path.basename"], 0)
    assert complete(kernel, "t.")[0] == ["t.attr", "t.klass", "t.method", "t.prop", "t.st"]
    assert complete(kernel, "t.attr.flo")[0] == ["t.attr.floor"]
    assert complete(kernel, "t.prop.flo")[0] == []
    assert complete(kernel, "t.missing.x")[0] == []
    assert complete(kernel, "T.kl")[0] == ["T.klass"]
    assert complete(kernel, "t.__cl")[0] == ["t.__class__"]
    assert complete(kernel, "bluebird.ke")[0] == ["bluebird.keys"]
    assert complete(kernel, "'text'.up")[0] == []
    assert complete(kernel, "f().x")[0] == []
    assert complete(kernel, "impo")[0] == ["import"]
    assert complete(kernel, "prin")[0] == ["print"]
    assert complete(kernel, "displ")[0] == ["display"]
    assert "math" in complete(kernel, "import mat")[0]
    assert "os.path" in complete(kernel, "import os.pa")[0]
    assert complete(kernel, "from math import sq")[0] in ([], ["sqrt"])
    assert complete(kernel, "\u00e9 = bluebi")[1] == 4
    assert complete(kernel, "1.5")[0] == [] and complete(kernel, "# com \"")[0] == []
    assert "blue" in complete(kernel, "")[0]
    assert kernel.execute("ran").output == []


def test_save_result(kernel):
    result = kernel.execute("save_result('a', [1])\nsave_result('b', {2})\nsave_result('\u00e9', None)\n5")
    assert result.output == 5
    assert [json.loads(parts["application/vnd.sandcell.result+json"]) for parts in result.displays] == [
        {"name": "a", "kind": "json", "value": [1]},
        {"name": "b", "kind": "repr", "value": "{2}"},
        {"name": "\u00e9", "kind": "json", "value": None},
    ]
    assert kernel.execute("save_result(5, 1)").error.endswith("TypeError: the name of a result is a str, not int")
    error = kernel.execute("for i in range(2000): save_result('n%d' % i, i)").error
    assert error.endswith("ValueError: a session keeps 1000 results")


def test_helpers_are_there(kernel):
    result = kernel.execute("help(len)\ncopyright\ndisplay, save_result, exit, quit")
    assert result.status == "ok" and b"Return the number of items" in result.stdout
    assert "display" not in [row["name"] for row in kernel.ask("inspect")[0]["names"]]


# ---- scripts


def test_a_script_runs_as_a_script(kernel, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/helper_of_script.py").write_text("value = 7\n")
    path = str(tmp_path / "lib/main.py")
    result = kernel.execute(
        "import sys, helper_of_script\nprint(sys.argv, __file__, sys.path[0])\n"
        "if __name__ == '__main__':\n    print(helper_of_script.value)\nkept = 1\n'no output'",
        script=path,
        args=["-a", "b c"],
    )
    assert result.output is None and result.status == "ok"
    assert result.stdout.decode() == "%r %s %s\n7\n" % ([path, "-a", "b c"], path, tmp_path / "lib")
    result = kernel.execute("kept, sys.argv, '__file__' in globals(), sys.path[0]")
    assert result.output == "(1, [''], False, '')"


def test_a_script_that_fails(kernel, tmp_path):
    path = str(tmp_path / "bad.py")
    result = kernel.execute("import sys\nsys.argv.append('x')\n1/0", script=path)
    assert 'File "%s", line 3, in <module>\n    1/0' % path in result.error
    assert kernel.execute("sys.argv, sys.path[0], '__file__' in globals()").output == "([''], '', False)"
    result = kernel.execute("sys.exit(4)", script=path)
    assert (result.status, result.exit_code) == ("exited", 4)
    result = kernel.execute("x = = 1", script=path)
    assert result.error.startswith('  File "%s", line 1' % path)


def test_spawn_from_a_script(kernel, tmp_path):
    path = tmp_path / "pool.py"
    code = (
        "import multiprocessing as mp\ndef sq(v):\n    return v * v\n"
        "if __name__ == '__main__':\n    with mp.get_context('spawn').Pool(2) as p:\n        print(p.map(sq, [1, 2, 3]))\n"
    )
    path.write_text(code)
    assert kernel.execute(code, script=str(path)).stdout == b"[1, 4, 9]\n"


# ---- await


def test_top_level_await(kernel):
    kernel.execute("import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x")
    assert kernel.execute("await f(1)").output == 1
    assert kernel.execute("x = await f(2)\nx + 1").output == 3
    assert kernel.execute("x = 5\nawait f(x)").output == 5
    assert kernel.execute("await f(1);").output is None
    assert kernel.execute("result = await f(9)").output == 9
    assert kernel.execute("[await f(i) for i in range(3)]").output == [0, 1, 2]
    assert kernel.execute("async for_ = 1").status == "error"
    code = "async def g():\n    yield 1\n    yield 2\nout = []\nasync for v in g(): out.append(v)\nout"
    assert kernel.execute(code).output == [1, 2]
    assert kernel.execute("[v async for v in g()]").output == [1, 2]
    code = "class C:\n    async def __aenter__(s): return 3\n    async def __aexit__(s, *a): pass\nasync with C() as v: pass\nv"
    assert kernel.execute(code).output == 3
    assert kernel.execute("x").output == 5


def test_failures_while_awaiting(kernel):
    kernel.execute("import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    1/0")
    error = kernel.execute("await f()").error
    assert [line for line in error.splitlines() if "File" in line] == [
        '  File "<cell 2>", line 1, in <module>', '  File "<cell 1>", line 4, in f',
    ]  # fmt: skip
    result = kernel.execute("import sys\nawait asyncio.sleep(0)\nsys.exit(3)")
    assert (result.status, result.exit_code) == ("exited", 3)
    result = kernel.execute("await asyncio.sleep(0)\nraise KeyboardInterrupt")
    assert result.error.endswith("KeyboardInterrupt") and result.stderr == b""
    assert kernel.execute("await asyncio.sleep(0, 7)").output == 7


def test_tasks_go_on_when_a_later_cell_awaits(kernel):
    kernel.execute(
        "import asyncio\nseen = []\nasync def tick():\n    for i in range(3):\n        seen.append(i)\n        await asyncio.sleep(0)\n"
    )
    kernel.execute("task = asyncio.create_task(tick()); await asyncio.sleep(0)")
    assert kernel.execute("await task\nseen").output == [0, 1, 2]
    assert kernel.execute("q = asyncio.Queue(); await q.put(1)").status == "ok"
    assert kernel.execute("await q.get()").output == 1


def test_asyncio_run_works_too(kernel):
    kernel.execute("import asyncio")
    assert kernel.execute("asyncio.run(asyncio.sleep(0, 4))").output == 4
    assert kernel.execute("await asyncio.sleep(0, 5)").output == 5
    assert kernel.execute("asyncio.run(asyncio.sleep(0, 6))").output == 6
    kernel.execute("loop = asyncio.get_running_loop(); await asyncio.sleep(0)")
    kernel.execute("loop.close()")
    assert kernel.execute("await asyncio.sleep(0, 8)").output == 8


def test_context_variables_carry_over_within_a_cell(kernel):
    code = "import contextvars, asyncio\nv = contextvars.ContextVar('v')\nv.set(3)\nawait asyncio.sleep(0)\nv.get()"
    assert kernel.execute(code).output == 3


def test_asyncio_is_not_imported_for_nothing(kernel):
    kernel.execute("x = 1\nx")
    assert kernel.execute("import sys\n'asyncio' in sys.modules").output is False
    assert kernel.execute("sorted(n for n in sys.modules if n.partition('.')[0] in ('numpy', 'pandas', 'matplotlib'))").output == []


def test_usage_fields(kernel):
    result = kernel.execute("for _ in range(10**6): pass")
    assert result.done["cpu_ns"] > 1_000_000 and result.done["peak_bytes"] > 1 << 20
    result = kernel.execute("import time; time.sleep(0.2)")
    assert result.done["cpu_ns"] < 100_000_000
