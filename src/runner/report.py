"""Exceptions as text: the user's frames only, in the words of the interpreter itself."""

import builtins
import sys
import traceback
import types

from _sandcell import value

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

LIMIT = 1 << 20
MAX_FRAMES = 2000
OURS = "<sandcell:"

_set_context = BaseException.__dict__["__context__"].__set__
_exc_info = sys.exc_info
_Report = traceback.TracebackException


def text(kind, error, tb, cell_name):
    """UTF-8 of at most 1 MiB.  Raises nothing but KeyboardInterrupt."""
    if kind is KeyboardInterrupt:
        _set_context(error, None)  # to show it may run the very code that was interrupted
    try:
        lines = _format(kind, error, tb, cell_name)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a hostile exception object, or a broken traceback module
        lines = _plain_format(kind, error, tb)
    return clip("".join(lines).rstrip("\n"))


def clip(message):
    data = message.encode("utf-8", "backslashreplace")
    if len(data) <= LIMIT:
        return data
    mark = b"\n... [%d bytes left out] ...\n" % (len(data) - LIMIT + 64)
    head = data[: LIMIT // 4].decode("utf-8", "ignore").encode()
    tail = data[len(data) - (LIMIT - LIMIT // 4 - 64) :].decode("utf-8", "ignore").encode()
    return head + mark + tail


def _format(kind, error, tb, cell_name):
    report = _Report(kind, error, _trim(tb, cell_name), limit=MAX_FRAMES)
    for part in _walk(report, set()):
        frames = part.stack
        kept = [frame for frame in frames if not frame.filename.startswith(OURS)]
        if len(kept) != len(frames):
            frames[:] = kept
    lines = list(report.format())
    if not report.stack and lines and lines[0].startswith("Traceback (most recent"):
        del lines[0]
    return [_in_our_words(line) for line in lines]


def _in_our_words(line):
    """Before 3.11 an exception whose str() fails was shown in other words."""
    if ": <unprintable " in line and line.endswith(" object>\n"):
        return line[: line.index(": <unprintable ")] + ": <exception str() failed>\n"
    return line


def _walk(report, seen):
    """The report and those of its causes, contexts and group members."""
    waiting = [report]
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        waiting.append(part.__cause__)
        waiting.append(part.__context__)
        waiting.extend(getattr(part, "exceptions", None) or ())


def _trim(tb, cell_name):
    """From the cell's own first frame on; of an endless recursion its two ends."""
    start = tb
    while start is not None and start.tb_frame.f_code.co_filename != cell_name:
        start = start.tb_next
    if start is None:
        start = tb
        while start is not None and start.tb_frame.f_code.co_filename.startswith(OURS):
            start = start.tb_next
    chain = []
    while start is not None:
        chain.append(start)
        start = start.tb_next
    if len(chain) <= MAX_FRAMES:
        return chain[0] if chain else None
    half = MAX_FRAMES // 2
    trimmed = None
    for entry in reversed(chain[:half] + chain[-half:]):
        trimmed = types.TracebackType(trimmed, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return trimmed


def _plain_format(kind, error, tb):
    """With nothing but our own builtins."""
    lines = []
    while tb is not None and len(lines) < MAX_FRAMES:
        code = tb.tb_frame.f_code
        if not code.co_filename.startswith(OURS):
            lines.append('  File "%s", line %d, in %s\n' % (code.co_filename, tb.tb_lineno, code.co_name))
        tb = tb.tb_next
    if lines:
        lines.insert(0, "Traceback (most recent call last):\n")
    lines.append(value.describe(error) + "\n")
    return lines


def exit_code(error):
    """(code, text) of a SystemExit, as the interpreter would end with it."""
    try:
        code = error.code
        if code is None:
            return 0, ""
        if isinstance(code, int):
            number = int(code) & 0xFF
            return number, "SystemExit: %d" % number if number else ""
        return 1, str.__str__(str(code))
    except KeyboardInterrupt:
        raise
    except BaseException as failure:
        return 1, value.describe(failure)
