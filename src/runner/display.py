"""display(): objects as MIME bundles, by the conventions of Jupyter.

An object shows itself through `_repr_mimebundle_` or `_repr_html_` and its like.  Frames leave at
once, in order.  A display that fails says so on stderr and disturbs nothing else.
"""

import binascii
import builtins
import json
import sys

from _sandcell import report, table, value

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

MAX_BYTES = 32 << 20
MAX_DISPLAYS = 100
MAX_PARTS = 64
TEXT = "text/plain"
METHODS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("application/pdf", "_repr_pdf_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
)
CANARY = "_sandcell_no_such_method_"


def note(message):
    """To the user, on the cell's stderr."""
    try:
        sys.stderr.write("sandcell: %s\n" % message)
    except Exception:
        pass


def note_failure(what):
    """The exception being handled, without our frames."""
    text = report.text(*sys.exc_info(), cell_name=None)
    note("%s failed\n%s" % (what, text.decode("utf-8")))


# ---- bundles


def bundle(obj, text=None):
    """{mime: bytes}, text/plain first.  text: its repr, where that is known already."""
    found = {TEXT: text if text is not None else value.repr_bytes(obj)}
    if _may_be_rich(obj):
        found.update(_own_bundle(obj))
        for mime, name in METHODS:
            if mime not in found:
                data = _call(obj, name)
                if data is not None:
                    _put(found, mime, data)
    extra = table.of(obj)
    if extra is not None:
        found.setdefault(table.MIME, extra)
    return found


def is_rich(parts):
    return len(parts) > 1


_BUILTIN = {type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set}
_BUILTIN |= {frozenset, range, slice, type, type(len), type(bundle), type(sys)}


def _may_be_rich(obj):
    try:
        if type(obj) in _BUILTIN or isinstance(obj, type):
            return False
        # An object that has every attribute has none of these in earnest (mocks, proxies).
        return not hasattr(obj, CANARY)
    except Exception:
        return False


def _method(obj, name):
    method = getattr(obj, name, None)
    return method if callable(method) else None


def _call(obj, name):
    try:
        method = _method(obj, name)
        data = method() if method else None
    except NotImplementedError:
        return None
    except Exception:
        note_failure("%s of %s" % (name, value.type_name(obj)))
        return None
    if isinstance(data, tuple) and len(data) == 2:
        data = data[0]  # (data, metadata)
    return data


def _own_bundle(obj):
    found = {}
    try:
        method = _method(obj, "_repr_mimebundle_")
        data = method(include=None, exclude=None) if method else None
    except NotImplementedError:
        return found
    except Exception:
        note_failure("_repr_mimebundle_ of %s" % value.type_name(obj))
        return found
    if isinstance(data, tuple) and data:
        data = data[0]
    if isinstance(data, dict):
        for mime, item in data.items():
            if item is not None:
                _put(found, mime, item)
    return found


def _put(found, mime, data):
    if type(mime) is not str or not 0 < len(mime) <= 255 or not mime.isascii() or not mime.isprintable():
        return
    try:
        found[mime] = _to_bytes(mime, data)
    except Exception:
        note_failure("the %s form of a display" % mime)


def _to_bytes(mime, data):
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    if isinstance(data, str):
        if mime.startswith(("image/", "application/pdf")) and "xml" not in mime:
            return binascii.a2b_base64(data)
        return data.encode("utf-8", "backslashreplace")
    return json.dumps(data, default=str).encode("ascii")


# ---- sending


class Displays:
    """send(parts) writes the frame; it is told of the current cell only."""

    def __init__(self, send):
        self.send = send
        self.count = 0
        self.dropped = 0
        self.figures = None

    def take_over(self, module):
        module.display = self.display

    def begin(self):
        self.count = 0
        self.dropped = 0

    def finish(self):
        if self.dropped:
            note("%d displays left out, a cell may have %d" % (self.dropped, MAX_DISPLAYS))

    def emit(self, parts):
        if self.count >= MAX_DISPLAYS:
            self.dropped += 1
            return
        size = sum(map(len, parts.values()))
        if size > MAX_BYTES:
            note("a display of %d bytes left out, it may have %d" % (size, MAX_BYTES))
            return
        self.count += 1
        self.send(list(parts.items())[:MAX_PARTS])

    def show(self, obj, include=None, exclude=None):
        parts = self.figures.bundle(obj) if self.figures else None
        if parts is None:
            parts = bundle(obj)
        if include is not None:
            parts = {mime: data for mime, data in parts.items() if mime in include}
        if exclude is not None:
            parts = {mime: data for mime, data in parts.items() if mime not in exclude}
        self.emit(parts)

    def display(self, *objs, include=None, exclude=None, raw=False, **_other):
        """Show objects: tables, pictures, HTML, … each in the richest form that it has.

        raw=True takes dicts of MIME type to data.
        """
        for obj in objs:
            if raw:
                parts = {}
                for mime, data in dict(obj).items():
                    _put(parts, mime, data)
                self.emit(parts)
            else:
                self.show(obj, include, exclude)
