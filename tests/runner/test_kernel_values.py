"""The value of a cell: JSON where that gives back the same value, else its repr; always bounded."""

import json
import math

import pytest
from harness import frames  # noqa: F401  (makes _sandcell importable)

from _sandcell import value

LIMIT = value.LIMIT


@pytest.mark.parametrize(
    "plain",
    [
        True, False, 0, -1, 1 << 62, 1 << 63, -(1 << 64), 10**100, 0.1, -0.0, 1e308, 5e-324, "", "a\n\"\\",
        "\u00e9\U0001f600", "\udead", "a\ud800", "\udc00\ud800", [], {}, [1, [2.5, None, {"k": ["v"]}]],
        {"": 0, "\udc80": "\udcff"}, [True, 1, 1.0], "x" * 100_000, list(range(100_000)),
        {str(n): [n] for n in range(5000)},
    ],
    ids=lambda plain: repr(plain)[:30].encode("unicode_escape").decode(),
)  # fmt: skip
def test_plain_data_comes_back(plain):
    kind, data = value.encode(plain)
    assert kind == "json"
    data.decode("ascii")
    back = json.loads(data)
    assert back == plain and type(back) is type(plain) and repr(back) == repr(plain)


class Text(str):
    pass


class Number(int):
    pass


@pytest.mark.parametrize(
    "other",
    [
        math.nan, [1.0, math.inf], {1: 2}, {"a": {None: 1}}, (1, 2), [(1,)], {1}, frozenset([1]), b"x", 1j,
        object, len, Text("x"), Number(3), [Text("x")], {Text("k"): 1}, "\ud83d\ude00", range(3), Ellipsis,
    ],
    ids=lambda other: repr(other)[:30].encode("unicode_escape").decode(),
)  # fmt: skip
def test_anything_else_is_its_repr(other):
    assert value.encode(other) == ("repr", repr(other).encode("utf-8", "backslashreplace"))


def nested(depth):
    made = []
    for _ in range(depth - 1):
        made = [made]
    return made


def test_depth():
    assert value.encode(nested(32))[0] == "json"
    assert value.encode(nested(33)) == ("repr", repr(nested(33)).encode())


def test_cycles_and_shared_parts():
    cycle = [1]
    cycle.append(cycle)
    assert value.encode(cycle) == ("repr", b"[1, [...]]")
    ring = {"a": 1}
    ring["self"] = ring
    assert value.encode(ring) == ("repr", b"{'a': 1, 'self': {...}}")
    pair = ([],)
    pair[0].append(pair)
    assert value.encode(pair) == ("repr", repr(pair).encode())
    part = [1]
    assert value.encode([part, part]) == ("json", b"[[1], [1]]")


def test_exponential_sharing_ends():
    bomb = ["boom"]
    for _ in range(30):
        bomb = [bomb, bomb]
    kind, data = value.encode(bomb)
    assert kind == "repr" and len(data) == LIMIT and data.endswith(value.CUT)


@pytest.mark.parametrize(
    "huge, start",
    [
        (list(range(3_000_000)), b"[0, 1, 2, "),
        (["x"] * 1_000_000, b"['x', 'x'"),
        (dict.fromkeys(range(1_000_000)), b"{0: None, 1: None"),
        (set(range(1_000_000)), b"{"),
        (tuple(range(1_000_000)), b"(0, 1, "),
        ("y" * (64 << 20), b"'yyy"),
        (b"\xff" * (64 << 20), b"b'\\xff"),
        ([["z" * (8 << 20)] * 3], b"[['zzz"),
        ("\u00e9" * LIMIT, "'\u00e9\u00e9".encode()),
        ("\U0001f600" * 90_000, "'\U0001f600".encode()),
    ],
    ids=lambda item: type(item).__name__,
)
def test_huge_values_are_cut(huge, start):
    kind, data = value.encode(huge)
    assert kind == "repr" and len(data) <= LIMIT and data.startswith(start)
    data.decode("utf-8")
    assert len(data) < LIMIT or data.endswith(value.CUT)


def test_cutting_builds_no_huge_text():
    import tracemalloc

    huge = [7] * 20_000_000
    tracemalloc.start()
    try:
        value.encode(huge)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20


def test_a_repr_just_at_the_limit_is_whole():
    for size in (LIMIT - 3, LIMIT - 2):
        kind, data = value.encode("q" * size)
        assert (kind, len(data)) == ("json", size + 2)
    kind, data = value.encode(b"q" * (LIMIT - 3))
    assert (kind, len(data)) == ("repr", LIMIT) and data.endswith(b"q'")
    kind, data = value.encode(b"q" * (LIMIT - 2))
    assert (kind, len(data)) == ("repr", LIMIT) and data.endswith(value.CUT)


class Hostile:
    def __init__(self, error):
        self.error = error

    def __repr__(self):
        raise self.error


@pytest.mark.parametrize("error", [ValueError("why"), SystemExit(3), GeneratorExit(), RecursionError("deep")])
def test_a_failing_repr_is_named(error):
    for thing in (Hostile(error), [Hostile(error)], {"k": (Hostile(error),)}):
        kind, data = value.encode(thing)
        assert kind == "repr" and data.startswith(b"<%s object, its repr failed: " % type(thing).__name__.encode())
        assert type(error).__name__.encode() in data


def test_an_interrupt_in_a_repr_goes_through():
    with pytest.raises(KeyboardInterrupt):
        value.encode([Hostile(KeyboardInterrupt())])


def test_reprs_that_are_not_quite_text():
    class Odd:
        def __repr__(self):
            return Text("odd")

    class Raw:
        def __repr__(self):
            return "a\ud800b"

    assert value.encode(Odd()) == ("repr", b"odd")
    assert value.encode(Raw()) == ("repr", b"a\\ud800b")


def test_hostile_types(kernel):
    result = kernel.execute(
        """
class Meta(type):
    def __hash__(cls):
        raise ValueError

    def __eq__(cls, other):
        raise ValueError

    __name__ = property(lambda cls: 1 / 0)

class Thing(metaclass=Meta):
    def __repr__(self):
        raise ValueError("no")

Thing()
"""
    )
    assert (result.status, result.stderr) == ("ok", b"")
    assert result.output == "<Thing object, its repr failed: ValueError: no>"
    result = kernel.execute("[Thing()]")
    assert result.status == "ok" and result.output.startswith("<list object, its repr failed: ")


def test_deep_nesting_neither_crashes_nor_fails():
    deep = nested(200_000)
    kind, data = value.encode(deep)
    assert kind == "repr" and data == b"[" * 101 + b"..." + b"]" * 101


def test_numbers_too_long_for_text():
    kind, data = value.encode(10**5000)
    assert kind == "repr" or json.loads(data) == 10**5000


def test_mutation_while_it_is_written():
    class Grower:
        def __init__(self, owner):
            self.owner = owner

        def __repr__(self):
            self.owner[len(self.owner)] = 0
            return "grower"

    owner = {}
    owner["g"] = Grower(owner)
    owner["h"] = 1
    kind, data = value.encode(owner)
    assert kind == "repr" and data
