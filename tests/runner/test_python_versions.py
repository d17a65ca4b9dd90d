"""The runner speaks the grammar and the library of Python 3.9, the oldest that an image may have.

This test reads the sources with the grammar of 3.9 and looks for names that came later, whatever
Python it runs with.  With SANDCELL_TEST_PYTHON set, the kernel's tests run under another version: they
have with 3.9.18, 3.10.13, 3.11.2, 3.12.1 and 3.13.0.  Not run: 3.14, and the supervisor under
anything but the images' 3.11.
"""

import ast
from pathlib import Path

import pytest

RUNNER = Path(__file__).resolve().parents[2] / "src/runner"
SOURCES = sorted(RUNNER.glob("*.py"))

# Names of the library since 3.10 that code like this might use.
NEWER = {
    "ast": "Match MatchValue TryStar TypeAlias TemplateStr compare",
    "asyncio": "TaskGroup timeout timeout_at Runner Barrier connect_accepted_socket eager_task_factory"
    " QueueShutDown",
    "builtins": "aiter anext EncodingWarning ExceptionGroup BaseExceptionGroup PythonFinalizationError"
    " _IncompleteInputError",
    "calendar": "Month Day",
    "collections.abc": "Buffer",
    "contextlib": "aclosing AsyncContextDecorator chdir",
    "copy": "replace",
    "dataclasses": "KW_ONLY",
    "datetime": "UTC",
    "enum": "StrEnum ReprEnum EnumCheck FlagBoundary verify member nonmember property global_enum EnumType",
    "fcntl": "F_GETPIPE_SZ F_SETPIPE_SZ F_DUP2FD F_SEAL_FUTURE_WRITE FICLONE",
    "functools": "Placeholder",
    "glob": "translate",
    "hashlib": "file_digest",
    "heapq": "heappush_max heappop_max heapify_max",
    "importlib.resources": "abc readers simple",
    "inspect": "get_annotations getmembers_static getasyncgenstate getasyncgenlocals markcoroutinefunction"
    " BufferFlags ispackage",
    "io": "text_encoding Reader Writer",
    "itertools": "pairwise batched",
    "locale": "getencoding",
    "math": "exp2 cbrt sumprod fma integer",
    "mmap": "MAP_NORESERVE MAP_ALIGNED_SUPER MAP_CONCEAL",
    "operator": "call is_none is_not_none",
    "os": "eventfd eventfd_read eventfd_write EFD_CLOEXEC EFD_NONBLOCK EFD_SEMAPHORE splice SPLICE_F_MOVE"
    " SPLICE_F_NONBLOCK SPLICE_F_MORE login_tty unshare setns PIDFD_NONBLOCK process_cpu_count"
    " timerfd_create timerfd_settime timerfd_settime_ns timerfd_gettime TFD_CLOEXEC TFD_NONBLOCK grantpt"
    " ptsname posix_openpt unlockpt readinto reload_environ CLONE_NEWUSER CLONE_NEWNS O_FSYNC SCHED_DEADLINE"
    " POSIX_SPAWN_CLOSEFROM pidfd_getfd listdrives listmounts",
    "os.path": "isjunction splitroot isreserved isdevdrive ALLOW_MISSING",
    "pathlib": "UnsupportedOperation",
    "platform": "freedesktop_os_release",
    "queue": "ShutDown",
    "random": "binomialvariate",
    "re": "NOFLAG PatternError",
    "resource": "RLIMIT_KQUEUES",
    "signal": "SIGSTKFLT",
    "socket": "IPPROTO_MPTCP SO_INCOMING_CPU SCM_CREDS2 LOCAL_CREDS SO_RTABLE SO_BINDTOIFINDEX AF_DIVERT"
    " SO_ORIGINAL_DST IP_RECVTTL IP_RECVERR",
    "statistics": "covariance correlation linear_regression kde",
    "string": "templatelib",
    "sys": "orig_argv stdlib_module_names exception last_exc monitoring activate_stack_trampoline"
    " _is_gil_enabled remote_exec abi_info set_int_max_str_digits get_int_max_str_digits",
    "threading": "gettrace getprofile __excepthook__ setprofile_all_threads settrace_all_threads",
    "types": "EllipsisType NoneType NotImplementedType UnionType get_original_bases CapsuleType",
    "typing": "TypeAlias ParamSpec Concatenate TypeGuard is_typeddict Self LiteralString Never Required"
    " NotRequired Unpack TypeVarTuple assert_never assert_type reveal_type dataclass_transform override"
    " TypeAliasType ReadOnly TypeIs NoDefault get_protocol_members",
    "warnings": "deprecated",
    "zlib": "adler32_combine crc32_combine",
}
NEWER = {module: set(names.split()) for module, names in NEWER.items()}
NEW_MODULES = {"tomllib", "annotationlib", "compression", "wsgiref.types", "pathlib.types", "concurrent.interpreters"}
METHODS = {"bit_count", "add_note", "hardlink_to", "full_match", "from_uri"}
# Keyword arguments that came later, by the name of what is called.
KEYWORDS = {
    "zip": {"strict"}, "map": {"strict"}, "dataclass": {"slots", "kw_only", "match_args", "weakref_slot"},
    "field": {"kw_only"}, "bisect": {"key"}, "insort": {"key"}, "glob": {"root_dir", "dir_fd", "include_hidden"},
    "realpath": {"strict"}, "rmtree": {"onexc", "dir_fd"}, "Popen": {"process_group"}, "run": {"process_group", "loop_factory"},
    "TracebackException": {"compact", "max_group_width", "max_group_depth"}, "NamedTemporaryFile": {"delete_on_close"},
    "TemporaryDirectory": {"delete"}, "Thread": {"context"},
    "create_task": {"context", "eager_start"},
}  # fmt: skip


class Finder(ast.NodeVisitor):
    def __init__(self):
        self.modules = {}  # local name -> module
        self.found = []

    def report(self, node, what):
        self.found.append("line %d: %s" % (node.lineno, what))

    def visit_Import(self, node):
        for alias in node.names:
            if alias.name in NEW_MODULES:
                self.report(node, alias.name)
            name = alias.asname or alias.name.partition(".")[0]
            self.modules[name] = alias.name if alias.asname else name

    def visit_ImportFrom(self, node):
        for alias in node.names:
            if alias.name in NEWER.get(node.module, ()) or node.module in NEW_MODULES:
                self.report(node, "%s.%s" % (node.module, alias.name))
            self.modules[alias.asname or alias.name] = "%s.%s" % (node.module, alias.name)

    def visit_Attribute(self, node):
        path = ast.unparse(node.value)
        module = self.modules.get(path.partition(".")[0])
        if module:
            module += path[len(path.partition(".")[0]) :]
            if node.attr in NEWER.get(module, ()):
                self.report(node, "%s.%s" % (module, node.attr))
        if node.attr in METHODS:
            self.report(node, "." + node.attr)
        self.generic_visit(node)

    def visit_Name(self, node):
        if node.id in NEWER["builtins"]:
            self.report(node, node.id)

    def visit_Call(self, node):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for keyword in node.keywords:
            if keyword.arg in KEYWORDS.get(name, ()):
                self.report(node, "%s(%s=)" % (name, keyword.arg))
        self.generic_visit(node)

    def check_annotation(self, annotation):
        for node in ast.walk(annotation) if annotation else ():
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
                self.report(node, "a union of types with |")

    def visit_arg(self, node):
        self.check_annotation(node.annotation)

    def visit_AnnAssign(self, node):
        self.check_annotation(node.annotation)
        self.generic_visit(node)

    def visit_FunctionDef(self, node):
        self.check_annotation(node.returns)
        self.generic_visit(node)


def newer_names(text):
    finder = Finder()
    finder.visit(ast.parse(text, feature_version=(3, 9)))
    return finder.found


def test_all_sources_are_found():
    assert {"kernel", "frames", "supervisor", "boot", "stage0_init"} <= {path.stem for path in SOURCES}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_source(path):
    text = path.read_text("utf-8")
    assert newer_names(text) == []
    assert len(text.splitlines()) < 800


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.eventfd(0)",
        "import os as system\nsystem.splice(1, 2, 3)",
        "import os.path\nos.path.splitroot('x')",
        "from itertools import pairwise",
        "import sys\nsys.exception()",
        "import fcntl\nfcntl.F_SETPIPE_SZ",
        "zip([], [], strict=True)",
        "raise ExceptionGroup('x', [])",
        "(5).bit_count()",
        "import tomllib",
        "def f(x: int | None): pass",
        "def f() -> int | None: pass",
        "from asyncio import TaskGroup",
        "import asyncio\nasyncio.timeout(5)",
        "import types\ntypes.NoneType",
        "import traceback\ntraceback.TracebackException(1, 2, 3, compact=True)",
    ],
)
def test_newer_names_are_seen(text):
    assert len(newer_names(text)) == 1


@pytest.mark.parametrize("text", ["match x:\n    case 1: pass", "try: pass\nexcept* ValueError: pass"])
def test_newer_grammar_is_seen(text):
    with pytest.raises(SyntaxError):
        newer_names(text)


def test_guarded_use_passes():
    assert newer_names("import sys\ngetattr(sys, 'stdlib_module_names', ())\nx = 1 | 2") == []
