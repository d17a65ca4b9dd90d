"""A session's variables as a stream of records, and back (PROTOCOL.md, section 7).

A record is one byte of kind, four of length, big-endian, and so many bytes:

    S  JSON: what holds before any variable: format, Python, cwd, sys.path, environment
    N  JSON: a value begins, {"name": ...} or {"extra": ...}
    D  a piece of its pickle
    E  it ends       A  JSON: it could not be finished, {"reason": ...}
    R  JSON: the report, last

All values share one pickle memo.  Each is pickled as [x, x, value], x being a new list: so the
stream itself tells how many objects were in the memo before, and a reader that failed to load one
value is in step again with the next.
"""

import json
import os
import pickle
import struct
import sys
import time

from _sandcell import tarstream

FORMAT = 1
HELD = 8 << 20  # a value up to here is written only once it is whole
PIECE = 1 << 20
MAX_TEXT = 64 << 20
MAX_REASON = 500
REPORT_CHARS = 4 << 20  # of names and reasons; a session with more of them is told how many
HEAD = b"\x80\x05\x95"  # protocol 5, first frame

_header = struct.Struct(">cI")


class StateError(Exception):
    """The stream is not a state that can be loaded."""


# ---- writing


class Sink:
    """Records into a descriptor; between begin() and commit() it is the file of a pickler."""

    def __init__(self, fd):
        self.fd = fd
        self.hash = tarstream.new_hash()
        self.bytes = 0
        self.held = []
        self.held_size = 0
        self.size = 0  # of the value's pickle
        self.broken = False
        self.open = None  # the value's N record, while it is not written

    def record(self, kind, payload=b""):
        self._out(_header.pack(kind, len(payload)))
        if payload:
            self._out(payload)

    def json(self, kind, value):
        self.record(kind, json.dumps(value).encode("ascii"))

    def begin(self, name):
        self.open = json.dumps(name).encode("ascii")
        self.held, self.held_size, self.size = [], 0, 0

    def write(self, data):
        size = data.nbytes if isinstance(data, memoryview) else len(data)
        self.size += size
        if self.open is None:
            self._pieces(data, size)
            return
        self.held.append(data)
        self.held_size += size
        if self.held_size > HELD:
            self._release()

    def _release(self):
        self.record(b"N", self.open)
        self.open = None
        held, self.held = self.held, []
        for data in held:
            self._pieces(data, data.nbytes if isinstance(data, memoryview) else len(data))

    def _pieces(self, data, size):
        if not size:
            return
        view = memoryview(data).cast("B")
        for at in range(0, size, PIECE):
            self.record(b"D", view[at : at + PIECE])

    def commit(self):
        if self.open is not None:
            self._release()
        self.record(b"E")

    def abort(self, reason):
        """Nothing of the value is written, or what is gets a mark that it is of no use."""
        if self.open is None:
            self.json(b"A", {"reason": reason})
        self.open, self.held = None, []

    def _out(self, data):
        self.hash.update(data)
        view = memoryview(data)
        self.bytes += len(view)
        try:
            while view:
                view = view[os.write(self.fd, view) :]
        except OSError:
            self.broken = True
            raise


class _Digest:
    """The file of a pickler whose output is only hashed."""

    def __init__(self):
        self.hash = tarstream.new_hash()

    def write(self, data):
        self.hash.update(data)


def reason_of(error):
    text = str(error) if not isinstance(error, SystemExit) else "SystemExit(%s)" % error
    text = text or type(error).__name__
    if isinstance(error, RecursionError):
        text = "nested too deeply"
    elif not isinstance(error, (pickle.PicklingError, TypeError, SystemExit)):
        text = "%s: %s" % (type(error).__name__, text)
    return text[:MAX_REASON]


class Saver:
    """Writes one state.  on_name(name) tells what comes next; stop(error) whether to give up."""

    def __init__(self, sink, namespace, on_name, stop=lambda _error: False):
        from _sandcell import pickling

        self.pickling = pickling
        pickling.learn_type_variables()
        self.sink = sink
        self.namespace = namespace
        self.on_name = on_name
        self.stop = stop
        self.pickler = pickling.StatePickler(sink, namespace)
        self.kept, self.skipped = [], []
        self.failed = {}  # id of a value that could not be pickled -> why

    def save(self, setup, values, extras, report):
        """values: (name, value) pairs; extras: the same for what is no variable."""
        begun = time.monotonic()
        self.sink.json(b"S", {"format": FORMAT, **setup})
        self.sink.begin({"extra": "live"})
        self.pickler.begin()
        self.sink.commit()
        values = list(values)
        for name, value in sorted(values, key=lambda item: _rank(item[1])):
            self._value({"name": name}, value, self.kept, self.skipped)
        lost = []
        for name, value in extras:
            self._value({"extra": name}, value, [], lost)
        self._fingerprint(dict(values), time.monotonic() - begun)
        order = {name: at for at, (name, _) in enumerate(values)}
        for found in (self.kept, self.skipped):
            found.sort(key=lambda entry: order[entry["name"]])
        report.update(self._report(lost))
        self.sink.json(b"R", report)

    def _value(self, label, value, kept, skipped):
        name = label.get("name") or label["extra"]
        self.on_name(name)
        entry = {"name": name, "type": type_name(value)}
        reason = self.pickling.is_hopeless(value) or self.failed.get(id(value))
        if reason is None:
            reason = self._pickle(label, value)
        if reason is None:
            entry["bytes"] = self.sink.size
            kept.append(entry)
        else:
            self.failed[id(value)] = reason
            entry["reason"] = reason
            skipped.append(entry)

    def _pickle(self, label, value):
        """The reason why it cannot be pickled, or None."""
        first = [mark := [], mark, value]
        self.sink.begin(label)
        try:
            self.pickler.dump(first)
        except BaseException as error:
            if self.sink.broken or self.stop(error):
                raise
            reason = reason_of(error)
        else:
            self.sink.commit()
            return None
        written = self.sink.open is None
        self.sink.abort(reason)
        self.pickler.forget_since(first, written)
        return reason

    def _fingerprint(self, values, spent):
        """A hash of each value by itself, small ones first, as far as a little time goes."""
        until = time.monotonic() + 0.05 + spent / 2
        for entry in sorted(self.kept, key=lambda entry: entry["bytes"]):
            if time.monotonic() > until:
                break
            digest = _Digest()
            try:
                pickler = self.pickling.StatePickler(digest, self.namespace)
                pickler.begin()
                pickler.dump(values[entry["name"]])
            except BaseException as error:
                if self.stop(error):
                    raise
                continue
            entry["sha256"] = digest.hash.hexdigest()

    def _report(self, lost):
        room = REPORT_CHARS
        found = {"names": [], "skipped": []}
        for label, entries in (("skipped", self.skipped), ("names", self.kept)):
            for entry in entries:
                room -= 200 + len(entry["name"]) + len(entry.get("reason", ""))
                if room > 0:
                    found[label].append(entry)
        more = len(self.kept) + len(self.skipped) - len(found["names"]) - len(found["skipped"])
        return {**found, "lost": lost[:100], "more": more}


def type_name(value):
    kind = type(value)
    module = module_of(kind)
    name = type.__dict__["__qualname__"].__get__(kind)
    return (name if module in ("builtins", "__main__") else "%s.%s" % (module, name))[:200]


def module_of(kind):
    """Of a class, whatever its metaclass makes of it."""
    module = type.__getattribute__(kind, "__module__")
    return module if isinstance(module, str) else "?"


_PLAIN = (int, float, complex, bool, str, bytes, bytearray, type(None))
_BUILT_IN = (list, dict, set, frozenset, tuple)


def _rank(value):
    """The order of saving.  Plain values and small ones come first: what fails is then found while
    the memo is small, and a value that cannot be loaded takes few others with it."""
    kind = type(value)
    if kind in _PLAIN or kind is type(sys):
        return 0, 0
    if module_of(kind).partition(".")[0] in ("numpy", "pandas"):
        return 1, 0
    if kind is type(_rank) or issubclass(kind, type):
        return 2, 0  # what the objects that come next may need while they are loaded
    if kind in _BUILT_IN:
        return 4, len(value)
    return 3, 0


# ---- reading


class Records:
    """Records from a descriptor; between two of them it is the file of an unpickler."""

    def __init__(self, fd):
        self.source = tarstream.Source(fd)
        self.left = 0  # of the D record that is being read
        self.aborted = None
        self.ended = False
        self.injected = b""  # read before all else

    def inject(self, data):
        self.injected = data

    def next(self):
        """(kind, payload); payload is None for D, whose bytes come by read()."""
        kind, size = _header.unpack(self.source.exactly(_header.size))
        if kind == b"D":
            self.left = size
            return kind, None
        if kind not in b"SNEAR" or size > MAX_TEXT:
            raise StateError("a record of the state is malformed")
        return kind, self.source.exactly(size)

    def begin(self):
        """Behind an N record."""
        self.aborted, self.ended = None, False

    def _more(self):
        """Whether bytes of the value are there."""
        while not self.left:
            if self.ended:
                return False
            kind, payload = self.next()
            if kind == b"D":
                continue
            self.ended = True
            if kind == b"A":
                self.aborted = json.loads(payload)["reason"]
            elif kind != b"E":
                raise StateError("a value of the state does not end")
        return True

    def head(self, size):
        """The first bytes of the value, without taking them."""
        if not self._more() or self.left < size:
            return b""
        source = self.source
        if source.end - source.start < size and not source.gather(size):
            return b""
        return bytes(source.buffer[source.start : source.start + size])

    def read(self, size=-1):
        if self.injected:
            end = size if size >= 0 else len(self.injected)
            found, self.injected = self.injected[:end], self.injected[end:]
            return found
        parts = []
        while size and self._more():
            piece = bytes(self.source.take(min(self.left, size if size > 0 else self.left)))
            self.left -= len(piece)
            if size > 0:
                size -= len(piece)
            parts.append(piece)
        self._fail_if_aborted()
        return b"".join(parts)

    def readinto(self, target):
        if self.injected:
            found = self.read(len(target))
            target[: len(found)] = found
            return len(found)
        view = memoryview(target).cast("B")
        done = 0
        while done < len(view) and self._more():
            count = self.source.take_into(view[done : done + self.left])
            self.left -= count
            done += count
        self._fail_if_aborted()
        return done

    def readline(self):
        line = bytearray()
        while not line.endswith(b"\n"):
            piece = self.read(1)
            if not piece:
                break
            line += piece
        return bytes(line)

    def _fail_if_aborted(self):
        if self.aborted is not None:
            raise StateError(self.aborted)

    def skip(self):
        """The rest of the value."""
        while self._more():
            self.left -= len(self.source.take(self.left))


class _Hole:
    """In the memo of an unpickler, for what a value that failed has left out."""


class Loader:
    """Loads one state into a namespace."""

    def __init__(self, records, namespace):
        self.records = records
        self.unpickler = pickle.Unpickler(records)
        self.values = namespace  # filled as they come: what is loaded later may need them
        self.extras = {}
        self.names = []
        self.skipped = []
        self.report = None
        self.hole = _Hole()
        self.holes = sys.getrefcount(self.hole)
        self.failed = None  # where in the memo the last failure began

    def load(self, prepare):
        """prepare(setup) is called with the S record, before anything is unpickled."""
        kind, payload = self.records.next()
        setup = json.loads(payload) if kind == b"S" else {}
        if setup.get("format") != FORMAT:
            raise StateError("the state has format %r, not %d" % (setup.get("format"), FORMAT))
        prepare(setup)
        while self.report is None:
            kind, payload = self.records.next()
            if kind == b"N":
                self._value(json.loads(payload))
            elif kind == b"R":
                self.report = json.loads(payload)
            else:
                raise StateError("a record of the state is out of place")
        self.records.source.drain()
        loaded = set(self.names)
        self.names = [entry["name"] for entry in self.report["names"] if entry["name"] in loaded]
        for name in self.names:
            self.values[name] = self.values.pop(name)  # the order in which they were made
        return setup

    def _value(self, label):
        name = label.get("name") or label["extra"]
        self.records.begin()
        start = self._start_of_memo() if label.get("extra") != "live" else None
        try:
            self._fill_holes(start)
            value = self.unpickler.load()
            if start is not None:
                value = value[2]
            self.records.skip()
            self.records._fail_if_aborted()
            if sys.getrefcount(self.hole) > self.holes:
                raise StateError("it holds a part of another value that could not be loaded")
        except BaseException as error:
            value = None
            self.records.skip()
            self.failed = start if self.failed is None else min(start, self.failed)
            if self.records.aborted is None:
                self.skipped.append({"name": name, "reason": reason_of(error)})
            return
        if "name" in label:
            self.values[name] = value
            self.names.append(name)
        else:
            self.extras[name] = value

    def _start_of_memo(self):
        """How many objects the writer's memo held before this value."""
        head = self.records.head(21)
        if head[:3] != HEAD or head[11:16] != b"]\x94(]\x94" or head[16:17] not in b"hj":
            raise StateError("a value of the state is malformed")
        return (head[17] if head[16:17] == b"h" else int.from_bytes(head[17:21], "little")) - 1

    def _fill_holes(self, start):
        """After a failure: a new unpickler, since the old one may hold the rest of a frame.  Its memo
        gets what was there before the failed value, and holes for what that has put there or left
        out.  A pickle of our own does it: setting a memo from a dict empties it (CPython 3.8 to 3.13)."""
        if self.failed is None or start is None:
            return
        memo = self.unpickler.memo.copy()
        good = [memo[at] for at in range(self.failed)]
        del memo
        self.failed = None
        self.unpickler = pickle.Unpickler(self.records)
        self.unpickler.persistent_load = lambda at: good[at] if at < len(good) else self.hole
        puts = b"".join(b"J%bQ\x940" % at.to_bytes(4, "little") for at in range(start))
        self.records.inject(b"\x80\x05" + puts + b"N.")
        self.unpickler.load()
        self.holes = sys.getrefcount(self.hole)
