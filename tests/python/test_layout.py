"""_ffi.py says what the C compiler and the headers say."""
import ctypes
import re

import pytest

import public
from sandcell import _errors, _ffi, _result

TOP = public.TOP
# How the binding calls an enum's values: what the constants' names begin with there.
PREFIXES = {
    "sandcell_status": "SANDCELL_",
    "sandcell_result_status": "SANDCELL_",
    "sandcell_stream": "SANDCELL_",
    "sandcell_output_kind": "SANDCELL_",
}


@pytest.fixture(scope="module", name="layout")
def compiled():
    return public.layout()


def test_structs_are_laid_out_as_the_compiler_does_it(layout):
    assert set(_ffi.STRUCTS) == set(public.structs())
    for name, mirror in _ffi.STRUCTS.items():
        members = {field: [getattr(mirror, field).offset, getattr(mirror, field).size]
                   for field, _ in mirror._fields_}
        assert {"size": ctypes.sizeof(mirror), **members} == layout[name], name


def test_structs_begin_with_their_own_size():
    for mirror in _ffi.STRUCTS.values():
        if mirror._fields_[0][0] == "struct_size":
            assert mirror().struct_size == ctypes.sizeof(mirror)


def test_enum_values_are_the_same(layout):
    assert set(PREFIXES) == set(public.enums())
    for enum, prefix in PREFIXES.items():
        for name, value in layout[enum].items():
            if name != "size":
                assert getattr(_ffi, name[len(prefix):]) == value, name


def test_every_constant_of_the_headers_is_there():
    text = "\n".join(path.read_text() for path in public.HEADERS)
    for name, bit in re.findall(r"#define SANDCELL_(\w+)\s+\\?\s*\(UINT32_C\(1\) << (\d+)\)", text):
        assert getattr(_ffi, name) == 1 << int(bit), name
    assert _ffi.NO_TIMEOUT == 2**32 - 1


def test_every_function_is_bound_and_no_other():
    assert set(_ffi.WAITING) | set(_ffi.QUICK) == public.functions()
    assert not set(_ffi.WAITING) & set(_ffi.QUICK)


def test_functions_take_as_many_arguments_as_in_c():
    for name, (_, argtypes) in {**_ffi.WAITING, **_ffi.QUICK}.items():
        match = re.search(rf"\b{name}\s*\(([^;]*)\)\s*;", public.CODE)
        wanted = [] if match[1].strip() == "void" else match[1].split(",")
        assert len(argtypes) == len(wanted), name


def test_functions_return_what_they_do_in_c():
    kinds = {"int": ctypes.c_int, "void": None, "uint32_t": ctypes.c_uint32,
             "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t}
    for name, (restype, _) in {**_ffi.WAITING, **_ffi.QUICK}.items():
        head = re.search(rf"SANDCELL_API([^;]*?)\b{name}\s*\(", public.CODE)[1]
        c_type = head.replace("SANDCELL_NODISCARD", "").strip()
        if c_type.endswith("*"):
            assert restype in (ctypes.c_char_p, ctypes.c_void_p), name
        else:
            assert restype is kinds[c_type], name


def test_every_status_has_an_exception_of_its_own(layout):
    codes = {value for name, value in layout["sandcell_status"].items() if "_E_" in name}
    assert set(_errors._BY_CODE) == codes
    assert len(set(_errors._BY_CODE.values())) == len(codes)


def test_every_result_status_and_stream_has_its_name(layout):
    statuses = {v for k, v in layout["sandcell_result_status"].items() if k != "size"}
    assert set(_result._STATUS_NAMES) == statuses
    streams = {v for k, v in layout["sandcell_stream"].items() if k != "size"}
    assert set(_result.STREAM_NAMES) == streams


def test_status_names_are_the_librarys():
    from sandcell._library import lib

    for status, name in _result._STATUS_NAMES.items():
        assert lib.sandcell_result_status_name(status).decode() == name


def test_version_is_the_librarys():
    import sandcell
    from sandcell._library import lib

    assert lib.sandcell_version_text().decode() == sandcell.__version__
    cmake = (TOP / "CMakeLists.txt").read_text()
    assert f"project(sandcell VERSION {sandcell.__version__} " in cmake
