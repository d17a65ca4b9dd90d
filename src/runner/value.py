"""The value of a cell as text: JSON where that gives back the same value, else its repr.

Plain data is None, bool, int, float, str, and lists and dicts (with str keys) of these, exact types
only: a subclass, a tuple, NaN or an int key would not come back as it was.  Both forms are bounded,
and a huge list or string is cut without its whole text ever being built.
"""

import _json
import builtins
import itertools
import math
import re

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

LIMIT = 1 << 20
MAX_DEPTH = 32
CUT = b"... [cut at 1 MiB]"
CHUNK = 1000

_NONE = type(None)
_FLAT = {int, bool, _NONE, float}
_SHORT_REPR = {int, bool, _NONE, float, complex}
_name_of = type.__dict__["__name__"].__get__
_is_finite = math.isfinite
_pair = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_slice = itertools.islice


class NotPlain(Exception):
    """JSON cannot carry this value, or not within the limits."""


def _refuse(value):
    raise NotPlain


_to_json = _json.make_encoder(
    None, _refuse, _json.encode_basestring_ascii, None, ": ", ", ", False, False, False
)


def to_json(item):
    """Of plain data that is known to be such; nothing of this can be replaced from Python."""
    return "".join(_to_json(item, 0))


def encode(value):
    """(kind, bytes) of a result part; raises nothing but KeyboardInterrupt."""
    if value is None:
        return "none", b""
    if type(value) is int and -(1 << 63) < value < 1 << 63:
        return "json", b"%d" % value
    try:
        return "json", json_bytes(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # also MemoryError, and what a metaclass may raise
        return "repr", repr_bytes(value)


def named(name, value):
    """JSON of {name, kind, value}; value is the text where kind is repr."""
    kind, data = encode(value)
    text = data.decode("utf-8")
    if kind == "repr":
        text = to_json(text)
    elif kind == "none":
        kind, text = "json", "null"
    head = '{"name": %s, "kind": "%s", "value": %s}' % (to_json(str.__str__(name)), kind, text)
    return head.encode("ascii")


def json_bytes(value, limit=LIMIT):
    """ASCII; raises NotPlain or what a hostile type raises."""
    _check_plain(value, limit)
    text = to_json(value).encode("ascii")
    if len(text) > limit:
        raise NotPlain
    return text


def _check_plain(value, left):
    stack = [(value, 1)]
    while stack:
        item, depth = stack.pop()
        kind = type(item)
        if kind is str:
            left -= len(item)
            _check_text(item)
        elif kind is float:
            if not _is_finite(item):
                raise NotPlain
        elif kind is list or kind is dict:
            left -= 3 * len(item)
            if depth > MAX_DEPTH or left < 0:
                raise NotPlain
            if kind is dict:
                if set(map(type, item)) - {str}:
                    raise NotPlain
                stack.extend([(key, depth) for key in item])
                item = item.values()
            kinds = set(map(type, item))
            if float in kinds and not all(_is_finite(x) for x in item if type(x) is float):
                raise NotPlain
            if not kinds <= _FLAT:
                stack.extend([(x, depth + 1) for x in item])
        elif kind is not int and kind is not bool and kind is not _NONE:
            raise NotPlain
        if left < 0:
            raise NotPlain


def _check_text(text):
    """Two surrogates that stand as a pair would come back as one character."""
    if not text.isascii() and _pair.search(text):
        raise NotPlain


# ---- repr


def repr_bytes(value, limit=LIMIT):
    """UTF-8, at most limit bytes; a repr that fails is named, not raised (but KeyboardInterrupt)."""
    return clip(safe_repr(value, limit), limit)


def clip(text, limit=LIMIT, mark=CUT):
    data = text[: limit + 1].encode("utf-8", "backslashreplace")
    if len(data) > limit:
        data = data[: limit - len(mark)].decode("utf-8", "ignore").encode("utf-8") + mark
    return data


def safe_repr(value, limit=LIMIT):
    try:
        pieces = _Pieces(limit)
        pieces.add(value, 0)
        return "".join(pieces.texts)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return "<%s object, its repr failed: %s>" % (type_name(value), describe(error))


def type_name(value):
    return name_of(type(value))


def name_of(kind):
    return str.__str__(_name_of(kind))


def describe(error):
    """One line on an exception that may itself be hostile."""
    try:
        text = str.__str__(str(error))[:500]
    except KeyboardInterrupt:
        raise
    except BaseException:
        text = "<exception str() failed>"
    name = type_name(error)
    return name + ": " + text if text else name


def _is_string(kind):
    return kind is str or kind is bytes or kind is bytearray  # `in` would call a metaclass's __eq__


class _Full(Exception):
    """Enough text."""


class _Pieces:
    """repr() of builtin containers piece by piece, so that it can stop."""

    def __init__(self, limit):
        self.texts = []
        self.left = limit + 1  # one more than asked for, so that clip() sees the cut
        self.active = set()

    def put(self, text):
        self.texts.append(text)
        self.left -= len(text)
        if self.left < 0:
            raise _Full

    def add(self, value, depth):
        try:
            self._add(value, depth)
        except _Full:
            if depth:
                raise

    def _add(self, value, depth):
        kind = type(value)
        if kind is list:
            self._many(value, "[", "]", value, depth)
        elif kind is tuple:
            self._many(value, "(", ",)" if len(value) == 1 else ")", value, depth)
        elif kind is dict:
            self._dict(value, depth)
        elif kind is set and value:
            self._many(value, "{", "}", value, depth)
        elif kind is frozenset and value:
            self._many(value, "frozenset({", "})", value, depth)
        elif _is_string(kind) and len(value) > self.left + CHUNK:
            self.put(repr(value[: self.left + 1]))
            raise _Full
        else:
            text = repr(value)
            if type(text) is not str:
                text = str.__str__(text)
            self.put(text)

    def _enter(self, value, depth, mark):
        if id(value) in self.active:
            self.put(mark)
            return False
        if depth > 100:
            self.put("...")
            return False
        self.active.add(id(value))
        return True

    def _many(self, items, opening, closing, value, depth):
        if not self._enter(value, depth, opening[-1:] + "..." + closing[-1:]):
            return
        self.put(opening)
        first = True
        iterator = iter(items)
        while True:
            chunk = list(_slice(iterator, CHUNK))
            if not chunk:
                break
            if not first:
                self.put(", ")
            first = False
            if set(map(type, chunk)) <= _SHORT_REPR:
                self.put(repr(chunk)[1:-1])
            else:
                for number, item in enumerate(chunk):
                    if number:
                        self.put(", ")
                    self._add(item, depth + 1)
        self.put(closing)
        self.active.discard(id(value))

    def _dict(self, value, depth):
        if not self._enter(value, depth, "{...}"):
            return
        self.put("{")
        first = True
        for key, item in value.items():
            if not first:
                self.put(", ")
            first = False
            self._add(key, depth + 1)
            self.put(": ")
            self._add(item, depth + 1)
        self.put("}")
        self.active.discard(id(value))
