"""What one call left behind, however it ended."""

from __future__ import annotations

import base64
import html
import json
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p, string_at
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Type, TypeVar, Union

from . import _ffi, _markup, _table
from ._library import lib

MAX_HTML = 2 << 20  # of one display, shown in a notebook; what is longer is shown as text


@dataclass
class SandboxExecResult:
    """The five fields that OpenDataSci's sandboxes answer with."""

    success: bool
    output: Any = None
    stdout: str = ""
    error: Optional[str] = None
    code: str = ""


class Display(Mapping[str, Any]):
    """One displayed object: its representations by MIME type, in the container's order.

    Text comes as ``str``, ``application/json`` parsed, everything else as ``bytes``.
    All of it was written by the code in the container: do not trust it.
    """

    def __init__(self, forms: Mapping[str, bytes]) -> None:
        self._forms = dict(forms)

    def __getitem__(self, mime: str) -> Any:
        data = self._forms[mime]
        if mime == "application/json":
            try:
                return json.loads(data)
            except (ValueError, RecursionError):
                pass
        if _is_text(mime):
            return data.decode("utf-8", "replace")
        return data

    def __iter__(self) -> Iterator[str]:
        return iter(self._forms)

    def __len__(self) -> int:
        return len(self._forms)

    def __repr__(self) -> str:
        forms = (f"{mime}: {len(data)} bytes" for mime, data in self._forms.items())
        return f"<Display {', '.join(forms)}>"

    def bytes_of(self, mime: str) -> bytes:
        """The bytes of one representation as the container sent them."""
        return self._forms[mime]

    def _repr_html_(self) -> str:
        """For notebooks; built so that nothing in it can run or fetch."""
        for mime in ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"):
            if mime in self._forms:
                data = base64.b64encode(self._forms[mime]).decode("ascii")
                return f'<img src="data:{mime};base64,{data}">'
        page = self._forms.get("text/html")
        if page is not None and len(page) <= MAX_HTML:
            return f"<div>{_markup.clean_html(page.decode('utf-8', 'replace'))}</div>"
        return _pre(self.get("text/plain", repr(self)))


def _is_text(mime: str) -> bool:
    return mime.startswith("text/") or mime.endswith(
        ("+xml", "+json", "/json", "javascript")
    )


def _pre(text: str, style: str = "") -> str:
    attribute = f' style="{style}"' if style else ""
    return f"<pre{attribute}>{html.escape(text)}</pre>"


@dataclass(repr=False)
class ExecResult(SandboxExecResult):
    """How a call ended and what it left.

    ``success`` is true for status ``ok`` and for ``sys.exit(0)``.  ``output`` is the value
    of the last expression: the value itself when it is plain data (``output_kind`` is
    ``"json"``), else its ``repr``.  ``stdout`` and ``stderr`` are what was kept of the
    streams; ``stdout_bytes`` and ``stderr_bytes`` are the same before decoding.
    """

    stderr: str = ""
    data: List[Display] = field(default_factory=list)
    status: str = "ok"
    exit_code: Optional[int] = None
    signal: int = 0
    state_preserved: bool = True
    container_restarted: bool = False
    duration: float = 0.0
    output_kind: str = "none"
    stdout_dropped: int = 0
    stderr_dropped: int = 0
    late_stdout: str = ""
    late_stderr: str = ""
    # Of a stream that is not UTF-8, its bytes; the library's JSON of what is seldom read.
    _raw: Dict[str, bytes] = field(default_factory=dict)
    _details: bytes = b"{}"

    @property
    def truncated(self) -> bool:
        """Whether output was left out between the head and the tail that were kept."""
        return self.stdout_dropped > 0 or self.stderr_dropped > 0

    @property
    def stdout_bytes(self) -> bytes:
        return self._raw.get("stdout") or self.stdout.encode()

    @property
    def stderr_bytes(self) -> bytes:
        return self._raw.get("stderr") or self.stderr.encode()

    @property
    def usage(self) -> Dict[str, Any]:
        """What the call took: ``cpu_ns``, ``peak_bytes``, ``oom_kills``."""
        return self._detail("usage") or {}

    @property
    def artifacts(self) -> Optional[Dict[str, Any]]:
        """Files of the workspace that the call created, changed or removed, if asked for."""
        return self._detail("artifacts")

    @property
    def stages(self) -> Optional[List[int]]:
        """Exit status of each command of a pipeline."""
        return self._detail("stages")

    @property
    def landlock(self) -> Optional[bool]:
        """Of a command: whether Landlock kept it from writing; else the policy alone did."""
        return self._detail("landlock")

    def _detail(self, name: str) -> Any:
        try:
            return json.loads(self._details).get(name)
        except (ValueError, RecursionError):
            return None  # not what the runner writes

    @property
    def figures(self) -> List[bytes]:
        """PNG images among the displays, such as matplotlib's figures."""
        return [shown.bytes_of("image/png") for shown in self.data if "image/png" in shown]

    def dataframe(self) -> Any:
        """The value, or else the last table displayed, as a pandas DataFrame.

        Needs pandas in this process.  A table that pandas shortened for display is an
        error: make ``df.to_dict("list")`` the last expression, and all of it arrives.
        """
        if self.output_kind == "json":
            return _table.from_value(self.output)
        for shown in reversed(self.data):
            if "text/html" in shown:
                return _table.from_html(shown["text/html"])
        raise ValueError("the result holds no table, as plain data or as HTML")

    def raise_for_status(self) -> "ExecResult":
        """Return the result itself, or raise ExecutionError when it is no success."""
        if not self.success:
            raise ExecutionError(self)
        return self

    def __repr__(self) -> str:
        parts = [f"status={self.status!r}"]
        for name in ("output", "stdout", "stderr", "error"):
            value = getattr(self, name)
            if value not in (None, ""):
                parts.append(f"{name}={_shorten(repr(value))}")
        if self.data:
            parts.append(f"data={self.data!r}")
        if not self.state_preserved:
            parts.append("state_preserved=False")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        parts = [_pre(self.stdout)] if self.stdout else []
        if self.stderr:
            parts.append(_pre(self.stderr, "background:#fdd"))
        parts.extend(shown._repr_html_() for shown in self.data)
        if self.error:
            parts.append(_pre(self.error, "color:#b00"))
        elif self.output is not None and not self.data:
            text = self.output if self.output_kind == "repr" else repr(self.output)
            parts.append(_pre(str(text)))
        return "".join(parts)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class ExecutionError(Exception):
    """Code that did not succeed, by ``raise_for_status()``; see ``result``."""

    def __init__(self, result: ExecResult) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        error = (self.result.error or "").rstrip()
        return error or f"the code ended with status '{self.result.status}'"


@dataclass(frozen=True)
class Output:
    """A piece of output, as it arrived.

    ``stream`` is ``"stdout"`` or ``"stderr"``, or one of ``"late_stdout"`` and
    ``"late_stderr"``: written between calls, by what earlier calls left running.
    ``text`` never splits a character: bytes of one that is incomplete come with the next.
    """

    stream: str
    data: bytes
    text: str


Event = Union[Output, ExecResult]

STREAM_NAMES = {
    _ffi.STDOUT: "stdout",
    _ffi.STDERR: "stderr",
    _ffi.LATE_STDOUT: "late_stdout",
    _ffi.LATE_STDERR: "late_stderr",
}
_STATUS_NAMES = {
    _ffi.RESULT_OK: "ok",
    _ffi.RESULT_ERROR: "error",
    _ffi.RESULT_TIMEOUT: "timeout",
    _ffi.RESULT_INTERRUPTED: "interrupted",
    _ffi.RESULT_OOM: "oom",
    _ffi.RESULT_EXITED: "exited",
    _ffi.RESULT_SIGNALED: "signaled",
    _ffi.RESULT_DENIED: "denied",
    _ffi.RESULT_LOST: "lost",
}


def _shorten(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ---- from the library's result ----

_Kind = TypeVar("_Kind", bound=ExecResult)


def _read_stream(pointer: c_void_p, stream: int) -> bytes:
    length = c_size_t()
    address = lib.sandcell_result_get_stream(pointer, stream, byref(length))
    return string_at(address, length.value) if length.value else b""


def _set_stream(result: ExecResult, name: str, data: bytes) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        result._raw[name] = data
    setattr(result, name, text)


def _set_output(result: ExecResult, pointer: c_void_p) -> None:
    kind = c_int()
    text = lib.sandcell_result_get_output(pointer, byref(kind))
    if text is None:
        return
    result.output_kind = "repr"
    if kind.value == _ffi.OUTPUT_JSON:
        try:
            result.output = json.loads(text)
            result.output_kind = "json"
            return
        except (ValueError, RecursionError):
            pass  # not what the runner writes: user code may have spoken in its place
    result.output = text.decode("utf-8", "replace")


def _read_display(pointer: c_void_p, index: int) -> Display:
    forms = {}
    mime, length = c_char_p(), c_size_t()
    for form in range(lib.sandcell_result_get_mime_count(pointer, index)):
        address = lib.sandcell_result_get_mime(
            pointer, index, form, byref(mime), byref(length)
        )
        name = (mime.value or b"").decode("ascii", "replace")
        forms[name] = string_at(address, length.value) if address else b""
    return Display(forms)


def read_result(pointer: c_void_p, code: Optional[str], kind: Type[_Kind]) -> _Kind:
    """Copy all of a result of the library, which the caller still has to free."""
    if code is None:
        length = c_size_t()
        address = lib.sandcell_result_get_code(pointer, byref(length))
        code = string_at(address, length.value).decode("utf-8", "replace")
    error = lib.sandcell_result_get_error(pointer)
    exit_code = lib.sandcell_result_get_exit_code(pointer)
    result = kind(
        success=lib.sandcell_result_get_success(pointer) == 1,
        error=error if error is None else error.decode("utf-8", "replace"),
        code=code,
        status=_STATUS_NAMES.get(lib.sandcell_result_get_status(pointer), "unknown"),
        exit_code=exit_code if exit_code >= 0 else None,
        signal=lib.sandcell_result_get_signal(pointer),
        state_preserved=lib.sandcell_result_get_state_preserved(pointer) == 1,
        container_restarted=lib.sandcell_result_get_container_restarted(pointer) == 1,
        duration=lib.sandcell_result_get_duration_ns(pointer) / 1e9,
        stdout_dropped=lib.sandcell_result_get_dropped(pointer, _ffi.STDOUT),
        stderr_dropped=lib.sandcell_result_get_dropped(pointer, _ffi.STDERR),
        _details=lib.sandcell_result_get_details(pointer) or b"{}",
    )
    _set_output(result, pointer)
    for stream, name in STREAM_NAMES.items():
        data = _read_stream(pointer, stream)
        if data:
            _set_stream(result, name, data)
    count = lib.sandcell_result_get_display_count(pointer)
    if count:
        result.data = [_read_display(pointer, index) for index in range(count)]
    return result
