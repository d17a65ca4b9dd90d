"""Tracebacks: the user's frames only, the source lines, and nothing that a hostile exception can do."""

import pytest
from harness import VERSION



def error_of(kernel, code, status="error"):
    result = kernel.execute(code)
    assert result.status == status, result
    assert "sandcell" not in result.error
    return result.error


def test_lines_and_caret(kernel):
    error = error_of(kernel, "a = 1\nb = 0\nc = a / b  # marker\n")
    lines = error.splitlines()
    assert lines[:3] == [
        "Traceback (most recent call last):",
        '  File "<cell 1>", line 3, in <module>',
        "    c = a / b  # marker",
    ]
    if VERSION >= (3, 11):
        assert lines[3].strip() == "~~^~~"
    assert lines[-1] == "ZeroDivisionError: division by zero"


def test_caret_without_a_last_newline(kernel):
    lines = error_of(kernel, "numbers = []\nnumbers[7]").splitlines()
    if VERSION >= (3, 11):
        assert lines[-3:-1] == ["    numbers[7]", "    ~~~~~~~^^^"]


def test_frames_of_earlier_cells_show_their_lines(kernel):
    kernel.execute("def f(x):\n    return 1 / x")
    error = error_of(kernel, "f(0)")
    assert 'File "<cell 2>", line 1, in <module>\n    f(0)' in error
    assert 'File "<cell 1>", line 2, in f\n    return 1 / x' in error


def test_last_expression_after_statements(kernel):
    error = error_of(kernel, "x = 0\n1 / x")
    assert error.count("File ") == 1 and 'File "<cell 1>", line 2, in <module>\n    1 / x' in error


def test_chains(kernel):
    error = error_of(
        kernel,
        "try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('outer') from e",
    )
    assert "KeyError: 'k'" in error and "ValueError: outer" in error
    assert "direct cause" in error and error.index("KeyError") < error.index("ValueError: outer")
    error = error_of(kernel, "try:\n    1/0\nexcept Exception:\n    undefined_name")
    assert "During handling of the above exception" in error and "NameError" in error


@pytest.mark.skipif(VERSION < (3, 11), reason="exception groups came with 3.11")
def test_groups(kernel):
    error = error_of(
        kernel,
        "def f():\n    raise ValueError('one')\n"
        "errors = []\n"
        "try:\n    f()\nexcept ValueError as e:\n    errors.append(e)\n"
        "raise ExceptionGroup('many', errors + [TypeError('two')])",
    )
    assert "ExceptionGroup: many (2 sub-exceptions)" in error
    assert "ValueError: one" in error and "TypeError: two" in error and "line 2, in f" in error


def test_notes_and_suppressed_context(kernel):
    error = error_of(kernel, "try:\n    1/0\nexcept Exception:\n    raise ValueError('v') from None")
    assert "ZeroDivisionError" not in error and error.endswith("ValueError: v")


@pytest.mark.parametrize(
    "code, line, name",
    [
        ("x = 1\ny = = 2", 2, "SyntaxError"),
        ("if True:\nprint(1)", 2, "IndentationError"),
        ("f(", 1, "SyntaxError"),
        ("'abc", 1, "SyntaxError"),
        ("x = 5\nreturn x", 2, "SyntaxError"),
        ("a = 1\n\nb = 'x' 5", 3, "SyntaxError"),
        ("x = 1\n\ty = 2", 2, "IndentationError"),
        ("yield 1", 1, "SyntaxError"),
        ("def f():\n    return await x", 2, "SyntaxError"),
    ],
)
def test_syntax_errors_have_their_position(kernel, code, line, name):
    error = error_of(kernel, code)
    assert error.startswith('  File "<cell 1>", line %d\n' % line)
    assert error.splitlines()[-1].startswith(name + ": ")
    assert "Traceback" not in error
    assert kernel.execute("1").output == 1


def test_syntax_error_of_code_that_the_cell_compiles(kernel):
    error = error_of(kernel, "def f():\n    compile('1 +', 'inner', 'exec')\nf()")
    assert 'File "<cell 1>", line 2, in f' in error and 'File "inner", line 1' in error


def test_names_before_the_error_survive(kernel):
    error_of(kernel, "kept = [1]\nkept.append(2)\n1/0\nnever = 1")
    assert kernel.execute("kept, 'never' in globals()").output == "([1, 2], False)"


def test_endless_recursion_is_short(kernel):
    error = error_of(kernel, "def f(n):\n    return f(n + 1)\nf(0)")
    assert "RecursionError" in error and "repeated" in error and len(error) < 5000
    error = error_of(
        kernel,
        "import sys\nsys.setrecursionlimit(20000)\n"
        "def a(n):\n    return b(n)\ndef b(n):\n    return a(n)\na(0)",
    )
    assert "RecursionError" in error and len(error) < 1 << 20
    assert "line 7, in <module>" in error


def test_frames_of_libraries_are_shown(kernel):
    error = error_of(kernel, "import json\njson.loads('{')")
    assert 'File "<cell 1>", line 2' in error and "/json/decoder.py" in error and "JSONDecodeError" in error


@pytest.mark.parametrize(
    "setup, raised, wanted",
    [
        ("class W(Exception):\n    def __str__(self): raise ValueError\n", "W()", "W: <exception str() failed>"),
        ("class W(Exception):\n    def __str__(self): return 5\n", "W()", "W: <exception str() failed>"),
        ("class W(Exception):\n    def __str__(self): raise SystemExit\n", "W()", "W: <exception str() failed>"),
        ("class W(BaseException):\n    def __getattribute__(self, n): raise SystemExit\n", "W()", "W"),
        ("class W(BaseException):\n    def __getattribute__(self, n): return self\n", "W()", "W"),
        ("class W(Exception):\n    __module__ = 5\n", "W('t')", "t"),
        ("class M(type):\n    def __getattribute__(c, n): raise ValueError(n)\n"
         "class W(Exception, metaclass=M): pass\n", "W('t')", "W"),
        ("class M(type):\n    def __eq__(c, o): raise ValueError\n    def __hash__(c): raise ValueError\n"
         "class W(Exception, metaclass=M): pass\n", "W('t')", "W"),
        ("", "Exception(chr(0xd8ff))", "Exception: \\ud8ff"),
        ("", "Exception('\\x00\\x1b[2J')", "Exception: \x00\x1b[2J"),
        ("class W(KeyError):\n    __cause__ = property(lambda s: 1/0)\n", "W('t')", "W"),
        ("class S(SystemError):\n    args = 5\n", "S()", "S"),
    ],
)  # fmt: skip
def test_hostile_exceptions(kernel, setup, raised, wanted):
    result = kernel.execute(setup + "raise " + raised)
    assert result.status == "error" and wanted in result.error, result
    assert "<cell 1>" in result.error
    assert kernel.execute("print('ok')").stdout == b"ok\n"


def test_huge_messages_keep_both_ends(kernel):
    error = error_of(kernel, "raise ValueError('BEGIN' + 'x' * (5 << 20) + 'END')")
    assert len(error.encode()) <= 1 << 20
    assert "ValueError: BEGIN" in error and error.endswith("xEND") and "bytes left out" in error
    error = error_of(kernel, "raise ValueError('\\U0001f600' * (1 << 20))")
    assert len(error.encode()) <= 1 << 20


def test_exceptions_are_freed_with_their_cell(kernel):
    kernel.execute("class Big:\n    def __del__(self): print('freed', flush=True)")
    result = kernel.execute("def f():\n    big = Big()\n    1/0\nf()")
    assert (result.status, result.stdout) == ("error", b"freed\n")


@pytest.mark.parametrize(
    "code, exit_code, error",
    [
        ("import sys; sys.exit()", 0, ""),
        ("raise SystemExit", 0, ""),
        ("exit(0)", 0, ""),
        ("quit()", 0, ""),
        ("import sys; sys.exit(3)", 3, "SystemExit: 3"),
        ("import sys; sys.exit(-1)", 255, "SystemExit: 255"),
        ("import sys; sys.exit(256)", 0, ""),
        ("import sys; sys.exit(True)", 1, "SystemExit: 1"),
        ("import sys; sys.exit('fatal: no input')", 1, "fatal: no input"),
        ("import sys; sys.exit(1.5)", 1, "1.5"),
        ("import sys; sys.exit((1, 2))", 1, "(1, 2)"),
        ("import sys; sys.exit(chr(0xd800))", 1, "\\ud800"),
        ("class E(SystemExit):\n    code = property(lambda s: 1/0)\nraise E", 1, "ZeroDivisionError: division by zero"),
        ("class O:\n    def __str__(s): raise ValueError('no')\nraise SystemExit(O())", 1, "ValueError: no"),
        ("def f():\n    raise SystemExit(4)\nf()\n5", 4, "SystemExit: 4"),
        ("await_me = 1\nimport asyncio\nawait asyncio.sleep(0)\nraise SystemExit(5)", 5, "SystemExit: 5"),
    ],
)
def test_exits(kernel, code, exit_code, error):
    kernel.execute("keep = 5")
    result = kernel.execute(code)
    assert (result.status, result.exit_code, result.error) == ("exited", exit_code, error)
    assert kernel.execute("keep").output == 5


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "GeneratorExit", "StopIteration(1)", "StopAsyncIteration"])
def test_unusual_exceptions(kernel, raised):
    result = kernel.execute("raise " + raised)
    assert result.status == "error" and raised.partition("(")[0] in result.error
    assert kernel.execute("1").output == 1


def test_thread_failures_go_to_stderr(kernel):
    result = kernel.execute(
        "import threading\ndef f():\n    1/0\nt = threading.Thread(target=f); t.start(); t.join()\n"
        "def g():\n    raise SystemExit(3)\nt = threading.Thread(target=g); t.start(); t.join()"
    )
    assert result.status == "ok" and b"ZeroDivisionError" in result.stderr and b"line 3, in f" in result.stderr


def test_excepthook_of_the_user_is_left_alone(kernel):
    kernel.execute("import sys\ndef hook(*a): print('hook')\nsys.excepthook = hook")
    result = kernel.execute("1/0")
    assert result.status == "error" and result.stdout == b""
    assert kernel.execute("sys.excepthook is hook").output is True
