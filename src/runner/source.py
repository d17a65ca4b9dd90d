"""From the bytes of a cell to code objects."""

import _ast
import __future__
import builtins
import io
import linecache

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
TREE = _ast.PyCF_ONLY_AST
COROUTINE = 0x80  # inspect.CO_COROUTINE
FUTURES = 0
for _name in __future__.all_feature_names:
    FUTURES |= getattr(__future__, _name).compiler_flag

KEPT_CELLS = 1000
KEPT_CHARS = 16 << 20

_compile = compile
_lines = io.StringIO  # splits as the tokenizer does; str.splitlines also at form feeds
_cache = linecache.cache


class Program:
    """head runs, then the value of tail is the cell's; names: the value of `result` is."""

    __slots__ = ("head", "tail", "names_result", "awaits")

    def __init__(self, head, tail, names_result=False):
        self.head = head
        self.tail = tail
        self.names_result = names_result
        self.awaits = 0  # whether a part of it is a coroutine
        for code in (head, tail):
            if code is not None:
                self.awaits |= code.co_flags & COROUTINE


class Compiler:
    def __init__(self):
        self.futures = 0  # `from __future__ import …` holds for later cells, as in Jupyter
        self.kept = []
        self.kept_chars = 0

    @staticmethod
    def decode(data):
        text = data.decode("utf-8")
        return text[1:] if text[:1] == "\ufeff" else text

    def remember(self, source, name):
        """Tracebacks and `inspect` find the lines; the oldest cells go first."""
        text = source if source.endswith("\n") else source + "\n"  # else carets are one off
        _cache[name] = (len(source), None, _lines(text, None).readlines(), name)
        self.kept.append((name, len(source)))
        self.kept_chars += len(source)
        while len(self.kept) > KEPT_CELLS or (self.kept_chars > KEPT_CHARS and len(self.kept) > 1):
            old, size = self.kept.pop(0)
            self.kept_chars -= size
            if old != name:
                _cache.pop(old, None)

    def sources(self):
        """[(name, text)] of the cells whose lines are kept."""
        return [(name, "".join(_cache[name][2])) for name, _ in self.kept if name in _cache]

    def restore(self, futures, sources):
        self.futures = futures
        for name, text in sources:
            self.remember(text, name)

    def compile(self, source, name):
        flags = self.futures | AWAIT
        try:
            return Program(None, _compile(source, name, "eval", flags, True))
        except SyntaxError:
            pass  # statements
        tree = _compile(source, name, "exec", flags | TREE, True)
        body = tree.body
        last = body[-1] if body else None
        if type(last) is _ast.Expr and not _ends_silent(source, last):
            body.pop()
            head = self._statements(tree, name) if body else None
            tail = _compile(_ast.Expression(last.value), name, "eval", self.futures | AWAIT, True)
            return Program(head, tail)
        return Program(self._statements(tree, name), None, _assigns_result(last))

    def compile_script(self, source, name):
        return Program(self._statements(source, name), None)

    def _statements(self, tree, name):
        code = _compile(tree, name, "exec", self.futures | AWAIT, True)
        self.futures |= code.co_flags & FUTURES
        return code


def _ends_silent(source, last):
    """`plot(x);` is run for its effect, as in Jupyter."""
    if ";" not in source:
        return False
    lines = source.encode("utf-8").splitlines()  # columns count bytes
    try:
        rest = lines[last.end_lineno - 1][last.end_col_offset :]
    except IndexError:
        return False
    return rest.lstrip().startswith(b";")


def _assigns_result(last):
    """`result = …`, `result: int = …` or `result += …` as the last statement."""
    kind = type(last)
    if kind is _ast.Assign:
        targets = last.targets
    elif kind is _ast.AugAssign or (kind is _ast.AnnAssign and last.value is not None):
        targets = [last.target]
    else:
        return False
    return any(type(target) is _ast.Name and target.id == "result" for target in targets)
