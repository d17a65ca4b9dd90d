"""What the namespace holds, and completions from it.  Nothing of the user's is run for either."""

import builtins
import keyword
import re
import sys
import types

from _sandcell import value

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

MAX_NAMES = 5000
REPR_CHARS = 200
MAX_MATCHES = 500
HIDDEN = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__", "__file__"}

_SIMPLE = {type(None), bool, int, float, complex, str, bytes, bytearray, range}
_CONTAINERS = {list, tuple, dict, set, frozenset}
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_dict_of = object.__getattribute__
_module_of = type.__dict__["__module__"].__get__
_class_dict_of = type.__dict__["__dict__"].__get__
_mro_of = type.__dict__["__mro__"].__get__


def listing(namespace, short=False):
    """[{name, type, repr, size}] by name; short: without repr and size."""
    rows = []
    for name in sorted(name for name in list(namespace) if type(name) is str):
        if name.startswith("_"):
            continue
        obj = namespace.get(name)  # a thread may have deleted it
        row = {"name": name[:REPR_CHARS], "type": _full_type(obj)}
        if not short:
            row["repr"] = _short_repr(obj)
            row["size"] = _size(obj)
        rows.append(row)
        if len(rows) == MAX_NAMES:
            break
    return rows


def _full_type(obj):
    name = value.type_name(obj)
    try:
        module = _module_of(type(obj))
    except Exception:
        module = None
    if type(module) is str and module not in ("builtins", "__main__"):
        name = module + "." + name
    return name[:REPR_CHARS]


def _short_repr(obj):
    try:
        kind = type(obj)
        if kind in _SIMPLE or (kind in _CONTAINERS and _holds_plain(obj, 5)):
            text = value.safe_repr(obj, REPR_CHARS)
        elif kind is types.ModuleType:
            text = "<module %r>" % obj.__name__
        elif issubclass(kind, type):
            text = "<class %r>" % value.name_of(obj)
        elif kind in _FUNCTIONS:
            text = "<function %s>" % obj.__qualname__
        else:
            text = _data_summary(obj) or "<%s object>" % _full_type(obj)
    except Exception:
        text = "<%s object>" % _full_type(obj)
    return text if len(text) <= REPR_CHARS else text[: REPR_CHARS - 3] + "..."


def _holds_plain(obj, depth):
    """Whether the repr of a container's beginning runs builtin code only."""
    if depth == 0:
        return False
    for number, item in enumerate(obj):
        if number == REPR_CHARS:
            return True
        items = (item, obj[item]) if type(obj) is dict else (item,)
        for one in items:
            kind = type(one)
            if kind not in _SIMPLE and not (kind in _CONTAINERS and _holds_plain(one, depth - 1)):
                return False
    return True


def _data_summary(obj):
    """Arrays and tables by their shape; known libraries, looked up without importing them."""
    kind = type(obj)
    numpy = sys.modules.get("numpy")
    pandas = sys.modules.get("pandas")
    if numpy and kind is getattr(numpy, "ndarray", None):
        return "array of %s, %s" % (" x ".join(map(str, obj.shape)) or "no dimension", obj.dtype)
    if numpy and issubclass(kind, getattr(numpy, "generic", ())):
        return repr(obj)
    if pandas and kind is getattr(pandas, "DataFrame", None):
        return "table of %d x %d: %s" % (*obj.shape, ", ".join((name for name in obj.columns[:20].tolist() if type(name) is str)))
    if pandas and kind is getattr(pandas, "Series", None):
        return "column of %d, %s" % (len(obj), obj.dtype)
    return None


def _size(obj):
    """Bytes of the object itself, not of what it refers to; null where only user code knows."""
    kind = type(obj)
    try:
        if kind in _SIMPLE or kind in _CONTAINERS or kind in _FUNCTIONS:
            return sys.getsizeof(obj)
        numpy = sys.modules.get("numpy")
        pandas = sys.modules.get("pandas")
        if numpy and kind is getattr(numpy, "ndarray", None):
            return int(obj.nbytes)
        if pandas and kind is getattr(pandas, "DataFrame", None):
            return int(obj.memory_usage(index=True, deep=False).sum())
        if pandas and kind is getattr(pandas, "Series", None):
            return int(obj.memory_usage(index=True, deep=False))
        return object.__sizeof__(obj)
    except Exception:
        return None


# ---- completion

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\.?$|[^\W\d]\w*$")
_IMPORT = re.compile(r"(?:^|[\n;])\s*(?:from|import)\s+(?:[\w., ]+,\s*)?([\w.]*)$")


def complete(namespace, code, cursor):
    """(matches, start): full texts for code[start:cursor]."""
    text = code[:cursor]
    line = text[text.rfind("\n") + 1 :]
    found = _IMPORT.search(line)
    if found and "import " not in line[line.find("from") + 4 : found.start(1)]:
        return _modules(found.group(1)), cursor - len(found.group(1))
    found = _DOTTED.search(line)
    if not found:
        return ([] if line.strip() else sorted(_visible(namespace, "")))[:MAX_MATCHES], cursor
    word = found.group()
    if found.start() and line[found.start() - 1] == ".":
        return [], cursor  # the value of some expression: finding it would mean running it
    if "." not in word:
        names = set(_visible(namespace, word))
        names.update(_visible(vars(builtins), word))
        names.update(name for name in keyword.kwlist if name.startswith(word))
        return sorted(names)[:MAX_MATCHES], cursor - len(word)
    path, _, last = word.rpartition(".")
    try:
        obj = _resolve(namespace, path.split("."))
    except LookupError:
        return [], cursor - len(word)
    names = {name for name in _attributes(obj) if name.startswith(last)}
    if not last.startswith("_"):
        names = {name for name in names if not name.startswith("_")}
    return ["%s.%s" % (path, name) for name in sorted(names)][:MAX_MATCHES], cursor - len(word)


def _visible(names, prefix):
    for name in list(names):
        if type(name) is str and name.startswith(prefix) and name.isidentifier():
            if name not in HIDDEN and (prefix or not name.startswith("_")):
                yield name


def _modules(prefix):
    names = set()
    for name in [*sys.modules, *sys.builtin_module_names, *getattr(sys, "stdlib_module_names", ())]:
        if name.startswith(prefix) and (prefix.startswith("_") or not name.startswith("_")):
            if name.partition(".")[0] != "_sandcell" and name.count(".") <= prefix.count("."):
                names.add(name)
    return sorted(names)[:MAX_MATCHES]


def _resolve(namespace, path):
    """The object at a dotted path, by dictionaries only; raises LookupError."""
    if path[0] in namespace:
        obj = namespace[path[0]]
    else:
        obj = vars(builtins)[path[0]]
    for name in path[1:]:
        obj = _static_attribute(obj, name)
    return obj


def _is_class(obj):
    return issubclass(type(obj), type)  # isinstance() would ask the object for its __class__


def _own_dict(obj):
    try:
        found = _class_dict_of(obj) if _is_class(obj) else _dict_of(obj, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return found if type(found) in (dict, types.MappingProxyType) else {}


def _dicts(obj):
    """Where the attributes of an object can be, first match first."""
    if _is_class(obj):
        return [_own_dict(kind) for kind in _mro_of(obj)]
    return [_own_dict(obj)] + [_own_dict(kind) for kind in _mro_of(type(obj))]


def _static_attribute(obj, name):
    own = not _is_class(obj)  # whether the first dictionary is the object's own
    for names in _dicts(obj):
        if name in names:
            found = names[name]
            kind = type(found)
            if kind is staticmethod or kind is classmethod:
                return found.__func__
            plain = own or kind is types.FunctionType or _is_class(found)
            if not plain and any("__get__" in _own_dict(base) for base in _mro_of(kind)):
                raise LookupError(name)  # a property: its value is only known by running it
            return found
        own = False
    raise LookupError(name)


def _attributes(obj):
    names = set()
    for found in _dicts(obj):
        names.update(name for name in found if type(name) is str and name.isidentifier())
    return names
