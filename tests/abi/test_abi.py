"""The layout of what crosses the library's border is what was promised."""
import json
import re
from pathlib import Path

import pytest

import public

GOLDEN = Path(__file__).with_name("layout.json")


@pytest.fixture(scope="module", name="layout")
def compiled():
    return public.layout()


def test_layout_is_the_one_written_down(layout):
    """Members are only appended, and values never change. A new one goes into layout.json,
    which `python3 tests/abi/public.py` prints."""
    assert layout == json.loads(GOLDEN.read_text())


def test_structs_begin_with_their_size_and_hide_no_padding(layout):
    assert public.structs()
    for name, members in public.structs().items():
        assert members[0] == "struct_size" or not name.endswith("_options"), name
        end = 0
        for member in members:
            offset, size = layout[name][member]
            assert offset == end, f"{name}.{member} has padding before it"
            end = offset + size
        assert end == layout[name]["size"], f"{name} has padding at its end"


def test_enums_are_as_wide_as_an_int(layout):
    assert public.enums()
    for name in public.enums():
        assert layout[name]["size"] == 4


def test_each_function_is_marked_as_exported():
    assert public.declared() == public.functions()


def test_umbrella_includes_every_header():
    umbrella = (public.TOP / "include/sandcell/sandcell.h").read_text()
    included = set(re.findall(r'#include "(\w+\.h)"', umbrella))
    assert included == {p.name for p in public.HEADERS} - {"sandcell.h"}


@pytest.mark.parametrize("header", public.HEADERS, ids=lambda path: path.name)
def test_header_takes_no_name_but_ours(header):
    text = header.read_text()
    for name in re.findall(r"^\s*#\s*define\s+(\w+)", text, re.M):
        assert name.startswith("SANDCELL_"), name
    for name in re.findall(r"\b(?:struct|enum|union)\s+(\w+)", public.code_of(header)):
        assert name.startswith("sandcell_"), name


@pytest.mark.parametrize("header", public.HEADERS, ids=lambda path: path.name)
def test_header_uses_types_of_one_width_only(header):
    """What a binding can mirror: no bool, long, off_t or FILE."""
    types = {"bool", "long", "short", "off_t", "time_t", "FILE", "float", "double", "union"}
    assert not types & set(re.findall(r"\w+", public.code_of(header)))
