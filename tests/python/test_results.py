"""Results and displays in this process: notebooks, tables, copies."""
import copy
import pickle

import pytest

import sandcell
from sandcell import _markup
from sandcell._result import Display

PNG = b"\x89PNG\r\n\x1a\n....."


def show(session, mime, text):
    return session.execute(f"display {mime} {text}").data[0]


def test_displays_are_mappings_of_their_forms(session):
    result = session.execute(
        "display text/plain hi\ndisplay application/json {\"a\": [1]}\ndisplay image/png xyz")
    plain, data, image = result.data
    assert dict(plain) == {"text/plain": "hi"}
    assert data["application/json"] == {"a": [1]}
    assert image["image/png"] == b"xyz" and image.bytes_of("image/png") == b"xyz"
    assert result.figures == [b"xyz"]
    assert list(plain) == ["text/plain"] and len(plain) == 1 and "text/html" not in plain


def test_details(session):
    result = session.execute("value 1")
    assert (result.usage, result.artifacts, result.stages) == ({"cpu_ns": 7}, None, [0, 1])
    assert sandcell.ExecResult(success=True).usage == {}


def test_json_display_that_is_none_is_text():
    assert Display({"application/json": b"{"})["application/json"] == "{"


def test_result_can_be_copied_and_pickled(session):
    result = session.execute("value {\"a\": 1}\nbytes ff\ndisplay text/plain x")
    for other in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert other == result and other.stdout_bytes == b"\xff"
        assert dict(other.data[0]) == {"text/plain": "x"}


def test_exceptions_can_be_pickled():
    for error in (sandcell.EngineError("x"), sandcell.EngineUnreachableError("y")):
        error.http_status, error.errno = 500, 7
        other = pickle.loads(pickle.dumps(error))
        assert (type(other), str(other)) == (type(error), str(error))
        assert (other.http_status, other.errno) == (500, 7)


def test_repr_is_short(session):
    result = session.execute("value 1\nprint " + "x" * 1000)
    assert len(repr(result)) < 200 and repr(result).startswith("ExecResult(status='ok', output=1")


def test_notebook_view_shows_everything(session):
    page = session.execute(
        "print <out>\nwarn <err>\ndisplay text/plain <dis>\nraise <error>")._repr_html_()
    for text in ("&lt;out&gt;", "&lt;err&gt;", "&lt;dis&gt;", "&lt;error&gt;"):
        assert text in page
    bundle = session.execute("value 41")._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"} and "41" in bundle["text/html"]


def test_images_are_embedded():
    page = Display({"text/plain": b"x", "image/png": PNG})._repr_html_()
    assert page.startswith('<img src="data:image/png;base64,iVBOR')


@pytest.mark.parametrize("page", [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<b onclick=alert(1)>x</b>",
    "<a href='javascript:alert(1)'>x</a>", "<style>*{display:none}</style>",
    "<iframe srcdoc='<script>1</script>'></iframe>", "<svg onload=alert(1)><script>1</script>",
    "<scr<script>ipt>alert(1)</script>", "<td colspan='1 onmouseover=alert(1)'>x</td>",
    "<p title=\"--><script>alert(1)</script>\">x</p>", "<!-- <b> --><script>1",
    "<math><mtext><script>1</script>", "<form action=//x><input name=y></form>",
    "<textarea><script>1</script></textarea>", "<meta http-equiv=refresh content=0>",
    "<object data=x></object><embed src=x>", "<b style='background:url(//x)'>x</b>",
    "<noscript><p title='</noscript><script>1</script>'>", "\0<script>1", "<ScRiPt>1</sCrIpT>",
])
def test_html_of_the_container_is_made_harmless(page):
    cleaned = _markup.clean_html(page).lower()
    for bad in ("<script", "<img", "<iframe", "<svg", "<style", "<form", "<input", "<meta",
                "<object", "<embed", "<math", "<textarea", " on", "href", "style=", "src="):
        assert bad not in cleaned or bad == " on" and "&" in cleaned, (page, cleaned)


def test_text_and_tables_survive_cleaning():
    page = "<table border=1><tr><th colspan=2>a&amp;b</th></tr><tr><td>1</td></table>"
    assert _markup.clean_html(page) == (
        '<table><tr><th colspan="2">a&amp;b</th></tr><tr><td>1</td></tr></table>')
    assert _markup.clean_html("a < b <b>c") == "a &lt; b <b>c</b>"


TABLE = """<div><style>x</style><table border="1" class="dataframe"><thead>
<tr style="text-align: right;"><th></th><th>name</th><th>n</th></tr></thead><tbody>
<tr><th>0</th><td>a</td><td>1.5</td></tr><tr><th>1</th><td>b&lt;</td><td>2.0</td></tr>
</tbody></table>%s</div>"""


def test_tables_are_read():
    head, body, after = _markup.read_table(TABLE % "<p>9 rows</p>")
    assert head == [["", "name", "n"]]
    assert body == [["0", "a", "1.5"], ["1", "b<", "2.0"]]
    assert after == "9 rows"


def test_dataframe_without_a_table_says_so(session):
    with pytest.raises(ValueError, match="no table"):
        session.execute("print x").dataframe()


def test_dataframe_of_values_and_displays(session):
    pandas = pytest.importorskip("pandas")
    frame = session.execute('value {"a": [1, 2], "b": ["x", "y"]}').dataframe()
    assert frame.equals(pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
    table = (TABLE % "").replace("\n", "")
    frame = session.execute("display text/html " + table).dataframe()
    assert frame.equals(pandas.DataFrame({"name": ["a", "b<"], "n": [1.5, 2.0]}))
    short = (TABLE % "<p>9 rows × 2 columns</p>").replace("\n", "")
    with pytest.raises(ValueError, match="only some of 9 rows"):
        session.execute("display text/html " + short).dataframe()


def test_lines_are_split_across_pieces():
    from sandcell._output import LineSplitter

    text = "one\n\ntwo é\nlast".encode()
    for size in range(1, len(text) + 1):
        splitter = LineSplitter()
        lines = []
        for at in range(0, len(text), size):
            lines += splitter.feed(text[at:at + size])
        assert lines + splitter.finish() == ["one", "", "two é", "last"], size


def test_line_without_an_end_does_not_fill_memory():
    from sandcell import _output

    splitter = _output.LineSplitter()
    lines = [line for _ in range(40) for line in splitter.feed(b"x" * 65536)]
    assert len(lines) == 2 and all(len(line) > _output.MAX_LINE for line in lines)
