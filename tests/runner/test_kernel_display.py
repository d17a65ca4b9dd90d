"""display() and rich values, without any library; see datasci.py for those with."""

import base64
import json

import pytest

PAGE = """
class Page:
    def __init__(self, **parts):
        for name, value in parts.items():
            setattr(self, '_repr_%s_' % name, value if callable(value) else lambda value=value: value)
    def __repr__(self):
        return 'page'
"""


def test_displays_in_order_and_of_their_cell(kernel):
    kernel.execute(PAGE)
    result = kernel.execute("display(Page(html='<1>'))\nprint('between')\ndisplay(Page(html='<2>'), 5, 'text')\nPage(html='<3>')")
    assert result.displays == [
        {"text/plain": b"page", "text/html": b"<1>"},
        {"text/plain": b"page", "text/html": b"<2>"},
        {"text/plain": b"5"},
        {"text/plain": b"'text'"},
        {"text/plain": b"page", "text/html": b"<3>"},
    ]
    assert (result.output, result.stdout) == ("page", b"between\n")
    assert kernel.execute("1").displays == []


@pytest.mark.parametrize(
    "name, mime, value, data",
    [
        ("html", "text/html", "'<b>\\u00e9'", "<b>\u00e9".encode()),
        ("markdown", "text/markdown", "'# h'", b"# h"),
        ("svg", "image/svg+xml", "'<svg/>'", b"<svg/>"),
        ("png", "image/png", "b'\\x89PNG\\xff'", b"\x89PNG\xff"),
        ("png", "image/png", "'iVBORw=='", base64.b64decode("iVBORw==")),
        ("jpeg", "image/jpeg", "b'\\xff\\xd8'", b"\xff\xd8"),
        ("pdf", "application/pdf", "b'%PDF'", b"%PDF"),
        ("latex", "text/latex", "'$x$'", b"$x$"),
        ("json", "application/json", "{'a': [1, None]}", b'{"a": [1, null]}'),
        ("javascript", "application/javascript", "'f()'", b"f()"),
        ("html", "text/html", "('<b>', {'meta': 1})", b"<b>"),
        ("html", "text/html", "'\\ud800'", b"\\ud800"),
    ],
)
def test_every_form(kernel, name, mime, value, data):
    kernel.execute(PAGE)
    result = kernel.execute("Page(%s=%s)" % (name, value))
    assert result.displays == [{"text/plain": b"page", mime: data}]
    assert result.stderr == b""


def test_mimebundle(kernel):
    kernel.execute(PAGE)
    result = kernel.execute(
        "Page(mimebundle=lambda include=None, exclude=None: ({'text/html': '<b>', 'application/vnd.x+json': {'v': 1},"
        " 'image/png': 'iVBORw==', 'text/plain': 'own', 'none/none': None}, {'text/html': {}}), html='<i>', latex='$')"
    )
    assert result.displays == [
        {
            "text/plain": b"own", "text/html": b"<b>", "application/vnd.x+json": b'{"v": 1}',
            "image/png": base64.b64decode("iVBORw=="), "text/latex": b"$",
        }
    ]  # fmt: skip


def test_plain_values_are_not_displayed(kernel):
    for code in ("5", "'x'", "[1]", "None", "(1, 2)", "object()", "len", "int", "{1: 2}", "b'x'", "lambda: 0"):
        assert kernel.execute(code).displays == []


def test_objects_that_have_every_attribute(kernel):
    for code in (
        "from unittest.mock import MagicMock\nMagicMock()",
        "class Any:\n    def __getattr__(self, n): return lambda *a, **k: 'x'\nAny()",
        "class Proxy:\n    def __getattr__(self, n): raise RuntimeError(n)\nProxy()",
        "class Slow:\n    _repr_html_ = 5\nSlow()",
        "class Page:\n    def _repr_html_(self): return 'x'\nPage",
    ):
        result = kernel.execute(code)
        assert (result.status, result.displays, result.stderr) == ("ok", [], b""), result


def test_a_display_that_fails_breaks_nothing(kernel):
    kernel.execute(PAGE)
    result = kernel.execute("display(Page(html=lambda: 1/0, latex='$x$'))\nprint('on')\n5")
    assert (result.status, result.output, result.stdout) == ("ok", 5, b"on\n")
    assert result.displays == [{"text/plain": b"page", "text/latex": b"$x$"}]
    assert b"_repr_html_ of Page failed" in result.stderr and b"ZeroDivisionError" in result.stderr
    assert b"sandcell:display" not in result.stderr
    result = kernel.execute("class Bad:\n    def __repr__(self): 1/0\ndisplay(Bad())\n6")
    assert result.output == 6
    assert result.displays == [{"text/plain": b"<Bad object, its repr failed: ZeroDivisionError: division by zero>"}]
    for parts in ("html=5", "html=object()", "png='%%% not base64'", "json={1, 2}", "mimebundle=lambda **k: 5",
                  "mimebundle=lambda **k: {5: 'x', '': 'y', 'a\\nb': 'z', 'x' * 300: 'w'}", "html=lambda x: 1",
                  "mimebundle=lambda **k: 1/0"):  # fmt: skip
        result = kernel.execute("display(Page(%s))\n7" % parts)
        assert (result.status, result.output, len(result.displays)) == ("ok", 7, 1), (parts, result)


def test_systemexit_in_a_display_is_the_users(kernel):
    kernel.execute(PAGE)
    result = kernel.execute("def leave(): raise SystemExit(3)\nPage(html=leave)")
    assert (result.status, result.exit_code) == ("exited", 3)


def test_raw_include_exclude(kernel):
    kernel.execute(PAGE)
    assert kernel.execute("display({'text/html': '<b>', 'text/plain': 'b'}, raw=True)").displays == [
        {"text/html": b"<b>", "text/plain": b"b"}
    ]
    assert kernel.execute("display(Page(html='h', latex='l'), include=['text/html'])").displays == [{"text/html": b"h"}]
    assert kernel.execute("display(Page(html='h'), exclude=['text/plain'], metadata={}, display_id='x')").displays == [
        {"text/html": b"h"}
    ]


def test_displays_are_bounded(kernel):
    kernel.execute(PAGE)
    result = kernel.execute("for i in range(130): display(i)")
    assert len(result.displays) == 100 and b"30 displays left out" in result.stderr
    assert len(kernel.execute("display(1)").displays) == 1
    result = kernel.execute("display(Page(html='x' * (33 << 20)))\nprint('on')")
    assert result.displays == [] and b"left out" in result.stderr and result.stdout == b"on\n"
    result = kernel.execute("display(Page(html='x' * (31 << 20)))")
    assert len(result.displays[0]["text/html"]) == 31 << 20


def test_printed_text_comes_before_the_display(kernel):
    kernel.execute(PAGE)
    number = kernel.start("print('no newline', end='')\ndisplay(Page(html='x'))\nimport time\ntime.sleep(1000)")
    header, _ = kernel.frame()
    assert header["type"] == "display"
    kernel.drain()
    assert kernel.stdout == b"no newline"
    kernel.interrupt()
    kernel.wait(number)


def test_displays_from_threads(kernel):
    kernel.execute(PAGE)
    result = kernel.execute(
        "import threading\npage = Page(html='x' * 100000)\n"
        "def show():\n    for _ in range(10): display(page)\n"
        "threads = [threading.Thread(target=show) for _ in range(8)]\n[t.start() for t in threads]\n"
        "[t.join() for t in threads]\n1"
    )
    assert [len(parts["text/html"]) for parts in result.displays] == [100000] * 80
    kernel.execute(
        "import time\ndef later():\n    time.sleep(0.2); display(page); global done; done = True\n"
        "done = False\nt = threading.Thread(target=later); t.start()"
    )
    import time

    time.sleep(0.4)
    result = kernel.execute("done")
    assert (result.output, result.displays) == (True, [])  # a display between cells belongs to none


def test_json_of_a_display_is_json(kernel):
    kernel.execute(PAGE)
    result = kernel.execute("import datetime\nPage(json={'d': datetime.date(2020, 1, 2), 'n': [1.5]})")
    assert json.loads(result.displays[0]["application/json"]) == {"d": "2020-01-02", "n": [1.5]}
