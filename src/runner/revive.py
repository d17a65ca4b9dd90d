"""What pickled state calls when it is loaded.

Saved states name these functions: they are part of the format, and none may change its meaning.
"""

import enum
import functools
import importlib
import marshal
import sys
import types
import weakref


def live_namespace():
    """The one namespace: functions see the variables of the session they are in."""
    return sys.modules["__main__"].__dict__


def live_module():
    return sys.modules["__main__"]


def builtin_namespace():
    import builtins

    return builtins.__dict__


def module(name, below=()):
    """A module, and those of its submodules that were loaded too: `import a.b` binds only a."""
    found = importlib.import_module(name)
    for other in below:
        try:
            importlib.import_module(other)
        except Exception:
            pass  # one that only its package can import
    return found


def module_globals(name):
    return importlib.import_module(name).__dict__


def code(data):
    return marshal.loads(data)


def cell():
    return types.CellType()


def fill_cell(cell, content):
    cell.cell_contents = content[0]


def function(code, namespace, name, cells):
    return types.FunctionType(code, namespace, name, None, cells)


def fill_function(function, state):
    for name, value in state.items():
        setattr(function, name, value)


def new_class(kind, name, bases, members):
    """A class without its methods yet."""
    return types.new_class(name, bases, {"metaclass": kind}, lambda body: body.update(members))


def new_enum(kind, name, bases, members, attributes):
    body = kind.__prepare__(name, bases)
    for key, value in attributes.items():
        body[key] = value
    for key, value in members:
        body[key] = value
    return kind.__new__(kind, name, bases, body)


def fill_class(cls, state):
    members, registered = state
    for name, value in members.items():
        setattr(cls, name, value)
    for other in registered:
        cls.register(other)


def method(function, owner):
    return types.MethodType(function, owner)


def proxy(mapping):
    return types.MappingProxyType(mapping)


def cached(function, size, typed):
    return functools.lru_cache(size, typed)(function)


def cached_property(function, name):
    found = functools.cached_property(function)
    found.attrname = name
    return found


def type_variable(name, bounds, bound, covariant, contravariant):
    import typing

    return typing.TypeVar(
        name, *bounds, bound=bound, covariant=covariant, contravariant=contravariant
    )


def weak_reference(target):
    """To nothing when there was nothing left, or when nobody else keeps it now."""
    if target is None:
        target = type("Gone", (), {})()
    return weakref.ref(target)


def attribute(module, name):
    """An object of a module that is known by its name there."""
    return getattr(importlib.import_module(module), name)


def is_enum(kind):
    return issubclass(kind, enum.EnumMeta)
