"""A pickler for a session's variables: what belongs to the session itself goes by value.

That is every function and class that no import would find again: of `__main__`, or made inside of
functions.  Functions keep the live namespace as their globals, and closures that share a variable
still share it afterwards.  cloudpickle, where the image has it, knows how to reduce more types.
"""

import abc
import builtins
import functools
import io
import marshal
import pickle
import sys
import types
import weakref

from _sandcell import revive

try:
    from cloudpickle import Pickler as _Base
except Exception:
    _Base = pickle.Pickler

_CODE_TYPES = {getattr(types, name): name for name in dir(types) if isinstance(getattr(types, name), type)}
_SLOTS_MADE = {"__dict__", "__weakref__"}
_STATE = ("__defaults__", "__kwdefaults__", "__doc__", "__module__", "__qualname__", "__annotations__")
_OPEN_FILES = (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.FileIO)
_LRU = type(functools.lru_cache(None)(lambda: None))
_MARKS = {"_MISSING_TYPE", "_FIELD_BASE", "_HAS_DEFAULT_FACTORY_CLASS", "_KW_ONLY_TYPE"}


class Live:
    """Stands for an object that every session has of its own."""

    def __init__(self, function, *args):
        self.reduced = function, args

    def __reduce__(self):
        return self.reduced


class StatePickler(_Base):
    """dump() any number of values: they share one memo, and one Unpickler loads them."""

    def __init__(self, file, namespace):
        super().__init__(file, protocol=5)
        self.namespace = namespace

    def dump(self, obj):
        pickle.Pickler.dump(self, obj)  # cloudpickle would make a text of a RecursionError

    def begin(self):
        """The first dump: from now on the live dicts are known by reference."""
        marks = [Live(revive.live_namespace), Live(revive.builtin_namespace)]
        self.dump(marks)
        memo = self.memo.copy()
        for mark, real in zip(marks, (self.namespace, builtins.__dict__)):
            memo[id(real)] = (memo.pop(id(mark))[0], real)
        self.memo = memo

    def forget_since(self, first, written):
        """Takes back what a failed dump has put into the memo: first is its outermost object.  Where
        a part of it was written, its places in the memo stay taken: a reader has counted them."""
        memo = self.memo.copy()
        if id(first) not in memo:
            return
        start, size = memo[id(first)][0], len(memo)
        memo = {key: entry for key, entry in memo.items() if entry[0] < start}
        if written:
            stand_ins = [Live(None) for _ in range(start, size)]
            memo.update((id(item), (start + at, item)) for at, item in enumerate(stand_ins))
        self.memo = memo

    def reducer_override(self, obj):
        kind = type(obj)
        reduce = _REDUCERS.get(kind)
        if reduce is not None:
            return reduce(self, obj)
        if issubclass(kind, type):
            return self._class(obj)
        if kind.__module__ == "dataclasses" and kind.__name__ in _MARKS:
            return self._named_in("dataclasses", obj)
        if isinstance(obj, _OPEN_FILES):
            return self._file(obj)
        return super().reducer_override(obj) if _Base is not pickle.Pickler else NotImplemented

    # ---- what an import finds again

    @staticmethod
    def _is_importable(obj):
        name = getattr(obj, "__module__", None)
        module = sys.modules.get(name) if isinstance(name, str) else None
        if module is None or name == "__main__":
            return False
        found = module
        try:
            for part in obj.__qualname__.split("."):
                found = getattr(found, part)
        except AttributeError:
            return False
        return found is obj

    @staticmethod
    def _named_in(module, obj):
        for name, value in vars(sys.modules[module]).items():
            if value is obj:
                return revive.attribute, (module, name)
        return NotImplemented

    def _module(self, obj):
        name = obj.__name__
        if name == "__main__":
            return revive.live_module, ()
        if sys.modules.get(name) is not obj:
            return super().reducer_override(obj) if _Base is not pickle.Pickler else NotImplemented
        prefix = name + "."
        below = tuple(other for other in list(sys.modules) if other.startswith(prefix))
        return revive.module, (name, below)

    # ---- functions

    def _function(self, obj):
        if self._is_importable(obj):
            return NotImplemented
        state = {name: getattr(obj, name) for name in _STATE if getattr(obj, name, None)}
        state.update(obj.__dict__)
        args = (obj.__code__, self._globals(obj.__globals__), obj.__name__, obj.__closure__)
        return revive.function, args, state, None, None, revive.fill_function

    @staticmethod
    def _globals(namespace):
        module = sys.modules.get(namespace.get("__name__"))
        if module is not None and module.__dict__ is namespace and module.__name__ != "__main__":
            return Live(revive.module_globals, module.__name__)
        return namespace

    def _cell(self, obj):
        try:
            content = (obj.cell_contents,)
        except ValueError:
            return revive.cell, ()
        return revive.cell, (), content, None, None, revive.fill_cell

    def _code(self, obj):
        try:
            data = marshal.dumps(obj, 2)  # later versions depend on what else refers to a constant
        except ValueError:
            data = marshal.dumps(obj)
        return revive.code, (data,)

    def _method(self, obj):
        return revive.method, (obj.__func__, obj.__self__)

    def _cached(self, obj):
        if self._is_importable(obj):
            return NotImplemented
        parameters = obj.cache_parameters()
        return revive.cached, (obj.__wrapped__, parameters["maxsize"], parameters["typed"])

    # ---- classes

    def _class(self, obj):
        if self._is_importable(obj):
            return NotImplemented
        if obj in _CODE_TYPES:
            return revive.attribute, ("types", _CODE_TYPES[obj])
        if obj.__module__ == "builtins":
            return NotImplemented
        members = {
            name: value for name, value in vars(obj).items() if name not in _SLOTS_MADE and name != "_abc_impl"
        }
        if revive.is_enum(type(obj)):
            return self._enum(obj, members)
        first = {"__module__": obj.__module__, "__qualname__": members.pop("__qualname__", obj.__qualname__)}
        slots = members.get("__slots__")
        if slots is not None:
            first["__slots__"] = members.pop("__slots__")
            for name in [slots] if isinstance(slots, str) else slots:
                members.pop(_mangled(obj, name), None)
        members.pop("__module__", None)
        if "__orig_bases__" in members:
            first["__orig_bases__"] = members.pop("__orig_bases__")  # typing.Generic asks for them
        args = (type(obj), obj.__name__, obj.__bases__, first)
        return revive.new_class, args, (members, _registered(obj)), None, None, revive.fill_class

    @staticmethod
    def _enum(obj, members):
        values = [(name, member._value_) for name, member in obj.__members__.items()]
        names = {name for name, _ in values}
        kept, late = {}, {}
        for name, value in members.items():
            inner = name.startswith("_") and name.endswith("_")
            if name in names or (inner and name not in ("__module__", "__qualname__", "__doc__", "_missing_")):
                continue
            (kept if inner else late)[name] = value
        args = (type(obj), obj.__name__, obj.__bases__, values, kept)
        return revive.new_enum, args, (late, []), None, None, revive.fill_class

    def _property(self, obj):
        return property, (obj.fget, obj.fset, obj.fdel, obj.__doc__)

    def _wrapper(self, obj):
        return type(obj), (obj.__func__,)

    def _cached_property(self, obj):
        return revive.cached_property, (obj.func, obj.attrname)

    def _proxy(self, obj):
        return revive.proxy, (dict(obj),)

    def _type_variable(self, obj):
        if self._is_importable_name(obj):
            return NotImplemented
        args = (obj.__name__, obj.__constraints__, obj.__bound__, obj.__covariant__, obj.__contravariant__)
        return revive.type_variable, args

    @staticmethod
    def _is_importable_name(obj):
        module = sys.modules.get(obj.__module__)
        return obj.__module__ != "__main__" and getattr(module, obj.__name__, None) is obj

    # ---- weak references: to what is saved, too

    def _weak_reference(self, obj):
        return revive.weak_reference, (obj(),)

    def _weak_dict(self, obj):
        return type(obj), (dict(obj),)

    # ---- what has no state worth keeping

    @staticmethod
    def _file(obj):
        for name in ("stdin", "stdout", "stderr"):
            if obj is getattr(sys, name):
                return revive.attribute, ("sys", name)
        raise pickle.PicklingError("an open file")


def _mangled(cls, name):
    if name.startswith("__") and not name.endswith("__"):
        return "_%s%s" % (cls.__name__.lstrip("_"), name)
    return name


def _registered(cls):
    """Virtual subclasses of an abstract class."""
    if not isinstance(cls, abc.ABCMeta):
        return []
    try:
        return [other for other in (ref() for ref in abc._get_dump(cls)[0]) if other is not None]
    except Exception:
        return []


_REDUCERS = {
    types.FunctionType: StatePickler._function,
    types.CellType: StatePickler._cell,
    types.CodeType: StatePickler._code,
    types.MethodType: StatePickler._method,
    types.ModuleType: StatePickler._module,
    types.MappingProxyType: StatePickler._proxy,
    property: StatePickler._property,
    classmethod: StatePickler._wrapper,
    staticmethod: StatePickler._wrapper,
    functools.cached_property: StatePickler._cached_property,
    _LRU: StatePickler._cached,
    weakref.ref: StatePickler._weak_reference,
    weakref.WeakKeyDictionary: StatePickler._weak_dict,
    weakref.WeakValueDictionary: StatePickler._weak_dict,
}


def learn_type_variables():
    """Once `typing` is there: importing it only for this would cost 5 ms."""
    typing = sys.modules.get("typing")
    if typing:
        _REDUCERS[typing.TypeVar] = StatePickler._type_variable


def is_hopeless(value):
    """The reason when a value cannot be pickled whatever it holds; found without trying."""
    return _HOPELESS.get(type(value))


def _hopeless_types():
    import _thread
    import socket

    found = {
        types.GeneratorType: "a generator",
        types.CoroutineType: "a coroutine",
        types.AsyncGeneratorType: "an asynchronous generator",
        types.FrameType: "a stack frame",
        types.TracebackType: "a traceback",
        memoryview: "a memory view",
        _thread.LockType: "a lock",
        _thread.RLock: "a lock",
        socket.socket: "a socket",
    }
    found.update((kind, "an open file") for kind in _OPEN_FILES)
    return found


_HOPELESS = _hopeless_types()
