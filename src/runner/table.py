"""A pandas DataFrame as compact JSON: columns, types, shape and the first rows."""

import builtins
import sys

from _sandcell import value

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

MIME = "application/vnd.sandcell.table+json"
ROWS = 50
COLUMNS = 100
CELL_CHARS = 500
LIMIT = 1 << 20


def of(obj):
    """bytes, or None for anything but a DataFrame."""
    pandas = sys.modules.get("pandas")
    frame_type = getattr(pandas, "DataFrame", None)
    try:
        if not isinstance(frame_type, type) or not isinstance(obj, frame_type):
            return None
        rows = ROWS
        while True:
            data = value.json_bytes(_content(obj, rows), LIMIT * 4)
            if len(data) <= LIMIT or rows == 0:
                return data if len(data) <= LIMIT else None
            rows //= 2
    except Exception:
        return None  # a subclass that behaves oddly is shown in its other forms


def _content(frame, rows):
    head = frame.iloc[:rows, :COLUMNS]
    columns = [head.iloc[:, i] for i in range(head.shape[1])]
    cells = [[_cell(item) for item in column.tolist()] for column in columns]
    return {
        "columns": [_label(name) for name in head.columns.tolist()],
        "types": [str(column.dtype) for column in columns],
        "shape": [int(n) for n in frame.shape],
        "index": [_label(name) for name in head.index.tolist()],
        "rows": [list(row) for row in zip(*cells)],
    }


def _label(name):
    return _cell(name) if not isinstance(name, tuple) else ", ".join(str(_cell(part)) for part in name)


def _cell(item):
    kind = type(item)
    if item is None or kind is bool:
        return item
    if kind is int:
        return item if abs(item) < 1 << 63 else str(item)
    if kind is float:
        if item != item:
            return None
        return item if abs(item) != float("inf") else str(item)
    text = item if kind is str else str(item)
    if kind is not str and text in ("NaT", "<NA>", "nan"):
        return None
    text = str.__str__(text)
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= CELL_CHARS else text[:CELL_CHARS] + "…"
