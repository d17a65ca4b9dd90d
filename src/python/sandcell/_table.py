"""Tables of a result as pandas DataFrames."""

from __future__ import annotations

import re
from typing import Any, List

from . import _markup

# What pandas writes behind a table that it shortened.
_SIZE = re.compile(r"(\d+) rows × (\d+) columns\s*$")


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("dataframe() needs pandas in the calling process") from None
    return pandas


def from_value(value: Any) -> Any:
    if not isinstance(value, (list, dict)):
        raise ValueError(f"a {type(value).__name__} is no table")
    return _pandas().DataFrame(value)


def _check_complete(rows: int, columns: int, after: str) -> None:
    size = _SIZE.search(after)
    if size and (int(size.group(1)), int(size.group(2))) != (rows, columns):
        raise ValueError(
            f"pandas showed only some of {size.group(1)} rows and {size.group(2)} columns; "
            'make df.to_dict("list") the last expression to get all of them'
        )


def _columns(head: List[List[str]], width: int) -> Any:
    rows = [row + [""] * (width - len(row)) for row in head]
    if len(rows) == 1:
        return rows[0]
    # More header rows: either several levels of columns, or the name of the index below.
    levels = [row for row in rows if any(row[1:])]
    if len(levels) == 1:
        return levels[0]
    return _pandas().MultiIndex.from_arrays(levels)


def _numbers(column: Any) -> Any:
    try:
        return _pandas().to_numeric(column.where(column != "NaN"))
    except (ValueError, TypeError):
        return column


def from_html(text: str) -> Any:
    """The first table of an HTML text, numbers as numbers.

    The index that pandas writes as the first, unnamed column becomes the index again.
    """
    head, body, after = _markup.read_table(text)
    if not head or not body:
        raise ValueError("the display holds no table")
    width = max(len(row) for row in head + body)
    has_index = head[0][:1] == [""]
    _check_complete(len(body), width - has_index, after)
    frame = _pandas().DataFrame([row + [""] * (width - len(row)) for row in body])
    frame = frame.apply(_numbers)
    frame.columns = _columns(head, width)
    if has_index:
        frame = frame.set_index(frame.columns[0])
        frame.index.name = None
    return frame
