"""The tar streams of put and get: a writer, and a reader for what the client's checks let through.

ustar with pax records for what does not fit into it, sparse files as GNU 1.0.  Names are bytes.
Everything is streamed through one buffer, and hashed on its way.
"""

import os

BLOCK = 512
BUFFER = 256 << 10
SPARSE_REGIONS = 65536
NUMBER_MAX = 8**11 - 1
FILE, HARDLINK, SYMLINK, FOLDER, PAX = b"0", b"1", b"2", b"5", b"x"

_ZEROS = bytes(BLOCK)
_TAIL = b"ustar\x0000" + bytes(247)  # magic, version, and fields that are not used


class TarError(Exception):
    """The stream is not what it should be."""


def new_hash():
    import hashlib

    return hashlib.sha256()


def _record(key, value):
    rest = len(key) + len(value) + 3
    size = rest + len(str(rest))
    size = rest + len(str(size))
    return b"%d %s=%s\n" % (size, key, value)


def header(kind, path, size=0, mode=0, mtime=0, link=b""):
    """A header, with a pax header in front where the old fields are too small."""
    records = []
    if len(path) > 100:
        records.append(_record(b"path", path))
    if len(link) > 100:
        records.append(_record(b"linkpath", link))
    if size > NUMBER_MAX:
        records.append(_record(b"size", b"%d" % size))
    if not 0 <= mtime <= NUMBER_MAX:
        records.append(_record(b"mtime", b"%d" % mtime))
        mtime = 0
    return _pax(records) + _plain(kind, path, min(size, NUMBER_MAX), mode, mtime, link)


def sparse_header(path, size, stored, mode, mtime):
    """Of a file with holes: `stored` bytes follow, its map and what is not a hole."""
    records = [
        _record(b"GNU.sparse.major", b"1"),
        _record(b"GNU.sparse.minor", b"0"),
        _record(b"GNU.sparse.name", path),
        _record(b"GNU.sparse.realsize", b"%d" % size),
    ]
    if stored > NUMBER_MAX:
        records.append(_record(b"size", b"%d" % stored))
    if not 0 <= mtime <= NUMBER_MAX:
        records.append(_record(b"mtime", b"%d" % mtime))
        mtime = 0
    return _pax(records) + _plain(FILE, b"GNUSparseFile.0/f", min(stored, NUMBER_MAX), mode, mtime, b"")


def _pax(records):
    if not records:
        return b""
    body = b"".join(records)
    return _plain(PAX, b"pax", len(body), 0o644, 0, b"") + body + padding(len(body))


def _plain(kind, path, size, mode, mtime, link):
    fields = (
        path[:100].ljust(100, b"\0"),
        b"%07o\0" % mode,
        b"0000000\0" b"0000000\0",
        b"%011o\0" % size,
        b"%011o\0" % mtime,
        b"        ",
        kind,
        link[:100].ljust(100, b"\0"),
        _TAIL,
    )
    block = b"".join(fields)
    return b"%s%06o\0 %s" % (block[:148], sum(block), block[156:])


def padding(size):
    return _ZEROS[: -size % BLOCK]


def sparse_map(regions):
    """The map in front of a sparse file's content: [(offset, size), ...]."""
    numbers = [len(regions)]
    for region in regions:
        numbers.extend(region)
    text = b"".join(b"%d\n" % number for number in numbers)
    return text + padding(len(text))


class Writer:
    """Collects small pieces, writes large ones as they are."""

    def __init__(self, fd):
        self.fd = fd
        self.hash = new_hash()
        self.bytes = 0
        self.pieces = []
        self.held = 0

    def write(self, data):
        """Keeps a reference to data: it must not change afterwards."""
        self.pieces.append(data)
        self.held += len(data)
        if self.held >= BUFFER:
            self.flush()

    def write_through(self, view):
        """For a buffer that is used again."""
        self.flush()
        self._out(view)

    def flush(self):
        if self.pieces:
            data = b"".join(self.pieces)
            self.pieces = []
            self.held = 0
            self._out(data)

    def _out(self, data):
        self.hash.update(data)
        self.bytes += len(data)
        view = memoryview(data)
        while view:
            view = view[os.write(self.fd, view) :]

    def finish(self):
        """The end of the archive, and of the stream."""
        self.write(bytes(2 * BLOCK))
        self.flush()
        os.close(self.fd)


class Source:
    """Bytes from a descriptor, through one buffer."""

    def __init__(self, fd):
        self.fd = fd
        self.hash = new_hash()
        self.bytes = 0
        self.buffer = memoryview(bytearray(BUFFER))
        self.start = self.end = 0

    def fill(self):
        """False at the end of the stream."""
        count = os.readv(self.fd, [self.buffer])
        self.start, self.end = 0, count
        self.hash.update(self.buffer[:count])
        self.bytes += count
        return count > 0

    def take(self, most):
        """At most so many bytes, at least one; lent until the next call."""
        if self.start == self.end and not self.fill():
            raise TarError("the stream ended early")
        found = self.buffer[self.start : min(self.end, self.start + most)]
        self.start += len(found)
        return found

    def exactly(self, size):
        found = self.take(size) if size else b""
        if len(found) == size:
            return bytes(found)
        parts = [bytes(found)]
        missing = size - len(found)
        while missing:
            parts.append(bytes(self.take(missing)))
            missing -= len(parts[-1])
        return b"".join(parts)

    def take_into(self, target):
        """Fills the front of target: at least one byte, large pieces past the buffer."""
        if self.start == self.end and len(target) >= BUFFER:
            count = os.readv(self.fd, [target])
            if not count:
                raise TarError("the stream ended early")
            self.hash.update(target[:count])
            self.bytes += count
            return count
        piece = self.take(len(target))
        target[: len(piece)] = piece
        return len(piece)

    def gather(self, size):
        """Makes size bytes stand in the buffer, if the stream has them."""
        rest = self.end - self.start
        self.buffer[:rest] = bytes(self.buffer[self.start : self.end])
        self.start, self.end = 0, rest
        while self.end < size:
            count = os.readv(self.fd, [self.buffer[self.end :]])
            if not count:
                return False
            self.hash.update(self.buffer[self.end : self.end + count])
            self.bytes += count
            self.end += count
        return True

    def drain(self):
        """Reads what is left, which has to be zeros."""
        while self.start < self.end or self.fill():
            if any(self.buffer[self.start : self.end]):
                raise TarError("something follows the end of the archive")
            self.start = self.end


class Entry:
    def __init__(self, kind, path, size, mode, mtime, link):
        self.kind = kind
        self.path = path
        self.size = size
        self.mode = mode
        self.mtime = mtime
        self.link = link
        self.regions = None  # of a sparse file
        self.stored = size


def _octal(field):
    text = field.strip(b" \0")
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    try:
        return int(text, 8) if text else 0
    except ValueError:
        raise TarError("a header holds a number that makes no sense") from None


def _text(field):
    return field.partition(b"\0")[0]


class Reader:
    """for entry in reader: read all of its content with content() before the next one."""

    def __init__(self, source):
        self.source = source
        self.left = 0
        self.pad = 0

    def __iter__(self):
        records = {}
        while True:
            block = self._header()
            if block is None:
                self.source.drain()
                return
            kind, size = block[156:157], _octal(block[124:136])
            if kind == PAX:
                records = self._records(size)
                continue
            entry = self._entry(block, kind, size, records)
            records = {}
            yield entry
            while self.left:
                self.content()

    def _header(self):
        block = self.source.exactly(self.pad + BLOCK)[self.pad :]
        self.pad = 0
        if block == _ZEROS:
            return None
        total = sum(block[:148]) + 8 * 32 + sum(block[156:])
        if block[257:262] != b"ustar" or total != _octal(block[148:156]):
            raise TarError("a header is damaged")
        return block

    def _records(self, size):
        if size > 1 << 16:
            raise TarError("an extended header is too long")
        body = self.source.exactly(size + -size % BLOCK)[:size]
        records = {}
        while body:
            length, _, _ = body.partition(b" ")
            end = int(length)
            key, equal, value = body[len(length) + 1 : end - 1].partition(b"=")
            if not equal or end <= len(length):
                raise TarError("an extended header is malformed")
            records[key] = value
            body = body[end:]
        return records

    def _entry(self, block, kind, size, records):
        path = records.get(b"GNU.sparse.name") or records.get(b"path")
        if path is None:
            path = _text(block[:100])
            prefix = _text(block[345:500])
            if prefix and block[257:263] == b"ustar\0":
                path = prefix + b"/" + path
        entry = Entry(
            kind,
            path,
            int(records.get(b"size", size)),
            _octal(block[100:108]) & 0o777,
            int(records.get(b"mtime", b"%d" % _octal(block[136:148])).partition(b".")[0]),
            records.get(b"linkpath") or _text(block[157:257]),
        )
        self.left = entry.size if kind == FILE else 0
        self.pad = -self.left % BLOCK
        if b"GNU.sparse.major" in records:
            self._sparse(entry, int(records[b"GNU.sparse.realsize"]))
        return entry

    def _sparse(self, entry, size):
        taken = 0
        numbers = []
        while not numbers or len(numbers) < 1 + 2 * numbers[0]:
            text = b""
            while not text.endswith(b"\n"):
                text += self.source.exactly(1)
                if len(text) > 20:
                    raise TarError("a sparse map is malformed")
            taken += len(text)
            numbers.append(int(text))
            if numbers[0] > SPARSE_REGIONS:
                raise TarError("a sparse map is too long")
        self.source.exactly(-taken % BLOCK)
        self.left -= taken + -taken % BLOCK
        entry.size = size
        entry.regions = list(zip(numbers[1::2], numbers[2::2]))
        if self.left != sum(count for _, count in entry.regions):
            raise TarError("a sparse map does not fit")

    def content(self, most=BUFFER):
        """The next piece of the entry's content, at most so much; lent until the next call."""
        piece = self.source.take(min(self.left, most))
        self.left -= len(piece)
        return piece
