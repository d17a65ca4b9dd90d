"""HTML from a container, made harmless; tables in it, read.

A display is written by code that nobody has reviewed, and a notebook would run its
scripts with the user's rights.  So nothing of it is passed on as it stands: the text is
parsed, and built again from a list of tags that only lay text out.
"""

from __future__ import annotations

import html
from html.parser import HTMLParser
from typing import List, Optional, Tuple

_LAYOUT = frozenset(
    "a abbr b blockquote br caption code col colgroup dd del div dl dt em "
    "h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol p pre q s samp small span strong sub sup table tbody td tfoot "
    "th thead tr tt u ul var".split()
)
_VOID = frozenset(("br", "col", "hr"))
_DROPPED = frozenset(
    "script style iframe object noscript template title head textarea select svg "
    "math xmp noembed noframes plaintext".split()
)
_NUMBERS = ("colspan", "rowspan")

_Attributes = List[Tuple[str, Optional[str]]]


class _Cleaner(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: List[str] = []
        self._open: List[str] = []
        self._dropped: List[str] = []  # elements whose content goes too

    def handle_starttag(self, tag: str, attrs: _Attributes) -> None:
        if tag in _DROPPED:
            self._dropped.append(tag)
        if self._dropped or tag not in _LAYOUT:
            return
        kept = "".join(
            f' {name}="{value}"'
            for name, value in attrs
            if name in _NUMBERS and value and value.isascii() and value.isdigit()
        )
        self.parts.append(f"<{tag}{kept}>")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: _Attributes) -> None:
        if tag in _VOID:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._dropped:
            while self._dropped.pop() != tag:
                pass
        if self._dropped or tag not in self._open:
            return
        while True:
            opened = self._open.pop()
            self.parts.append(f"</{opened}>")
            if opened == tag:
                return

    def handle_data(self, data: str) -> None:
        if not self._dropped:
            self.parts.append(html.escape(data))

    def finish(self) -> str:
        self.close()
        self.parts.extend(f"</{tag}>" for tag in reversed(self._open))
        return "".join(self.parts)


def clean_html(text: str) -> str:
    """The same text and tables, without anything that acts or fetches."""
    cleaner = _Cleaner()
    cleaner.feed(text)
    return cleaner.finish()


class _TableReader(HTMLParser):
    """Cells of the first table, row by row; a row is (is it a header, cells)."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: List[Tuple[bool, List[str]]] = []
        self.after = ""  # the text behind the table
        self._depth = 0
        self._done = False
        self._head = False
        self._cell: Optional[List[str]] = None
        self._span = 1

    def handle_starttag(self, tag: str, attrs: _Attributes) -> None:
        if self._done:
            return
        if tag == "table":
            self._depth += 1
        elif tag in ("thead", "tbody"):
            self._head = tag == "thead"
        elif tag == "tr" and self._depth:
            self.rows.append((self._head, []))
        elif tag in ("td", "th") and self.rows:
            span = dict(attrs).get("colspan") or "1"
            self._span = min(int(span), 1000) if span.isascii() and span.isdigit() else 1
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self.rows[-1][1].extend(["".join(self._cell).strip()] * self._span)
            self._cell = None
        elif tag == "table" and self._depth:
            self._depth -= 1
            self._done = not self._depth

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)
        elif self._done:
            self.after += data


def read_table(text: str) -> Tuple[List[List[str]], List[List[str]], str]:
    """Header rows, body rows, and the text behind the first table of an HTML text."""
    reader = _TableReader()
    reader.feed(text)
    reader.close()
    head = [cells for is_head, cells in reader.rows if is_head]
    body = [cells for is_head, cells in reader.rows if not is_head]
    return head, body, reader.after.strip()
