"""Output on its way from the library to a Python callback."""

from __future__ import annotations

import codecs
from ctypes import string_at
from typing import Any, Callable, Dict, List, Optional

from . import _ffi
from ._result import STREAM_NAMES, Output

OnOutput = Callable[[str, bytes], Any]

MAX_LINE = 1 << 20  # characters; a longer line is delivered in pieces


class Forward:
    """The library's output callback for one call, around a Python one.

    What that one raises stops the call and is raised when the call has ended.
    """

    def __init__(self, on_output: OnOutput) -> None:
        self.raised: Optional[BaseException] = None
        self._on_output = on_output
        self.callback = _ffi.OUTPUT_FN(self._forward)

    def _forward(self, stream: int, data: Optional[int], length: int, _user: Any) -> int:
        try:
            name = STREAM_NAMES.get(stream)
            if name is not None and data and length:
                self._on_output(name, string_at(data, length))
            return 0
        except BaseException as error:  # noqa: B902 - raised again after the call
            self.raised = error
            return 1


class Decoder:
    """Bytes of several streams to Outputs whose text never splits a character."""

    def __init__(self) -> None:
        make = codecs.getincrementaldecoder("utf-8")
        self._decoders: Dict[str, codecs.IncrementalDecoder] = {
            name: make("replace") for name in STREAM_NAMES.values()
        }

    def feed(self, stream: str, data: bytes) -> Output:
        return Output(stream, data, self._decoders[stream].decode(data))

    def finish(self) -> List[Output]:
        """What is left: characters that were never completed."""
        rests = ((name, each.decode(b"", True)) for name, each in self._decoders.items())
        return [Output(name, b"", rest) for name, rest in rests if rest]


class LineSplitter:
    """Bytes to lines, without their ends."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: List[str] = []
        self._length = 0

    def feed(self, data: bytes) -> List[str]:
        first, *more = self._decoder.decode(data).split("\n")
        self._rest.append(first)
        self._length += len(first)
        if not more:
            return self._take() if self._length > MAX_LINE else []
        lines = self._take(even_empty=True) + more[:-1]
        self._rest, self._length = [more[-1]], len(more[-1])
        return lines

    def finish(self) -> List[str]:
        self._rest.append(self._decoder.decode(b"", True))
        return self._take()

    def _take(self, even_empty: bool = False) -> List[str]:
        line = "".join(self._rest)
        self._rest, self._length = [], 0
        return [line] if line or even_empty else []
