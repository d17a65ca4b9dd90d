"""Frame codec: pure functions over bytes, the same on every link (PROTOCOL.md, section 2)."""

import builtins
import json
import struct

__builtins__ = dict(vars(builtins))  # in a kernel, user code may break the shared ones

MAX_HEADER = 65536
MAX_PAYLOAD = 65536
MAX_CONTENT = 64 << 20
MAX_PARTS = 256
MAX_ID = 1 << 53

_lengths = struct.Struct(">II")
# The C encoder itself: half the time, and nothing of it can be replaced from Python.
_encode = json.encoder.c_make_encoder(
    None, None, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True
)
_decode = json.JSONDecoder().scan_once


class FrameError(Exception):
    """The peer broke the protocol."""


def pack(header, payload=b""):
    text = "".join(_encode(header, 0)).encode("ascii")
    return _lengths.pack(len(text), len(payload)) + text + payload


def pack_call(header, content=b""):
    """A frame and as many data frames as the content needs."""
    frames = [pack(header, content[:MAX_PAYLOAD])]
    for start in range(MAX_PAYLOAD, len(content), MAX_PAYLOAD):
        frames.append(pack({"type": "data", "id": header["id"]}, content[start : start + MAX_PAYLOAD]))
    return b"".join(frames)


def parts_size(header, limit=MAX_CONTENT):
    """Sum of the declared parts, or None where there are none; checks their shape."""
    parts = header.get("parts")
    if parts is None:
        return None
    if type(parts) is not list or len(parts) > MAX_PARTS:
        raise FrameError("parts is not a list of at most %d" % MAX_PARTS)
    total = 0
    for part in parts:
        if type(part) is not list or len(part) != 2 or type(part[0]) is not str:
            raise FrameError("a part is not [name, length]")
        if type(part[1]) is not int or not 0 <= part[1] <= limit:
            raise FrameError("length of part %.40r is out of range" % part[0])
        total += part[1]
    if total > limit:
        raise FrameError("content of %d bytes is over the limit of %d" % (total, limit))
    return total


def split_parts(header, content):
    """The parts by name; content without declared parts is the part ''."""
    parts = header.get("parts")
    if parts is None:
        return {"": content}
    found = {}
    at = 0
    for name, size in parts:
        found[name] = content[at : at + size]
        at += size
    return found


class Reader:
    """Takes bytes in any split, gives whole frames."""

    def __init__(self, max_payload=MAX_PAYLOAD):
        self.max_payload = max_payload
        self.buffer = b""
        self.chunks = []  # what came behind buffer, joined only when a frame may be whole
        self.have = 0
        self.need = 8

    def feed(self, data):
        self.chunks.append(data)
        self.have += len(data)

    def next(self):
        """(header, payload), or None until more bytes have come."""
        if self.have < self.need:
            return None
        if self.chunks:
            self.buffer = b"".join([self.buffer, *self.chunks])
            self.chunks = []
        buffer = self.buffer
        header_len, payload_len = _lengths.unpack_from(buffer)
        if not 2 <= header_len <= MAX_HEADER or payload_len > self.max_payload:
            raise FrameError("frame lengths %d and %d are out of range" % (header_len, payload_len))
        end = 8 + header_len + payload_len
        if self.have < end:
            self.need = end
            return None
        header = parse_header(buffer[8 : 8 + header_len])
        payload = buffer[8 + header_len : end]
        self.buffer = buffer[end:]
        self.have -= end
        self.need = 8
        return header, payload


def parse_header(raw):
    try:
        text = raw.decode("ascii")
        header, end = _decode(text, 0)
    except (ValueError, RecursionError, StopIteration):
        raise FrameError("header is not JSON in ASCII") from None
    if end != len(text) or type(header) is not dict or type(header.get("type")) is not str:
        raise FrameError("header is not one object with a type")
    number = header.get("id", 0)
    if type(number) is not int or not 0 <= number < MAX_ID:
        raise FrameError("id is not an integer from 0 to 2^53 - 1")
    return header


class Assembler:
    """Joins a frame and its data frames; hands on the rest as it comes."""

    def __init__(self, limit=MAX_CONTENT):
        self.limit = limit
        self.open = {}  # id -> [header, chunks, missing]
        self.pending = 0

    def add(self, header, payload):
        """(header, content) when a content is complete, else None."""
        if header["type"] == "data":
            return self._continue(header.get("id"), payload)
        size = parts_size(header, self.limit)
        if size is None or size == len(payload):
            return header, payload
        if size < len(payload):
            raise FrameError("payload is longer than its parts")
        number = header.get("id")
        if number is None or number in self.open:
            raise FrameError("unfinished parts need an id that has none")
        self.pending += size
        if self.pending > self.limit:
            raise FrameError("unfinished contents are over the limit of %d" % self.limit)
        self.open[number] = [header, [payload], size - len(payload)]
        return None

    def _continue(self, number, payload):
        entry = self.open.get(number)
        if entry is None or len(payload) > entry[2]:
            raise FrameError("data frame that nothing waits for")
        entry[1].append(payload)
        entry[2] -= len(payload)
        if entry[2]:
            return None
        del self.open[number]
        content = b"".join(entry[1])
        self.pending -= len(content)
        return entry[0], content
