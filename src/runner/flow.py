"""Streams of bulk data between a client and a pipe, each with a window (PROTOCOL.md, Streams)."""

import collections
import fcntl
import os

from _sandcell import frames
from _sandcell.loop import POLLOUT

WINDOW = 512 << 10
GIVE_BACK = 128 << 10  # a credit is worth a frame from here on
READ = 65536
F_SETPIPE_SZ = 1031


def make_pipe():
    """(read end, write end) for a stream into a process."""
    reading, writing = os.pipe()
    try:
        fcntl.fcntl(writing, F_SETPIPE_SZ, WINDOW)
    except OSError:
        pass  # over the user's pipe allowance: the usual 64 KiB will do
    return reading, writing


def dispatch(stream, header, content):
    """Gives a frame of a client to its stream."""
    kind = header["type"]
    if kind == "credit" and isinstance(stream, Download):
        size = header.get("bytes")
        if type(size) is not int or not 0 < size <= WINDOW:
            raise frames.FrameError("a credit that makes no sense")
        stream.on_credit(size)
    elif kind == "chunk" and isinstance(stream, Upload) and content:
        stream.on_chunk(content)
    elif kind == "end" and isinstance(stream, Upload) and not stream.last:
        stream.on_end_frame(header)
    else:
        raise frames.FrameError("a %s frame that does not fit its stream" % kind)


class Upload:
    """What a client sends, on its way into a pipe.  on_end(header) once all of it has gone through."""

    def __init__(self, loop, call, fd, on_end):
        self.loop = loop
        self.call = call
        self.fd = fd
        self.on_end = on_end
        self.queue = collections.deque()
        self.queued = 0
        self.taken = 0  # written since the last credit
        self.bytes = 0
        self.last = None  # the client's `end`
        os.set_blocking(fd, False)

    def on_chunk(self, content):
        if self.last:
            raise frames.FrameError("a chunk behind the end of its stream")
        self.bytes += len(content)
        self.queued += len(content)
        if self.queued + self.taken > WINDOW:
            raise frames.FrameError("more than the window of its stream")
        if self.fd < 0:
            self._took(len(content))  # nobody reads any more; why is in the result
            return
        self.queue.append(memoryview(content))
        if len(self.queue) == 1:
            self.loop.watch(self.fd, self._writable, POLLOUT)

    def on_end_frame(self, header):
        self.last = header
        if not self.queue:
            self._finish()

    def _writable(self, _events):
        while self.queue:
            data = self.queue[0]
            try:
                sent = os.write(self.fd, data)
            except BlockingIOError:
                return
            except OSError:
                self.close()
                return
            self._took(sent)
            if sent < len(data):
                self.queue[0] = data[sent:]
                return
            self.queue.popleft()
        self.loop.forget(self.fd)
        if self.last:
            self._finish()

    def _took(self, size):
        self.queued -= size
        self.taken += size
        if self.taken >= GIVE_BACK and self.call.client:
            self.call.client.send({"type": "credit", "id": self.call.id, "bytes": self.taken})
            self.taken = 0

    def _finish(self):
        self.close()
        self.on_end(self.last)

    def close(self):
        """Lets go of the pipe; what still comes is thrown away."""
        if self.fd >= 0:
            self.loop.forget(self.fd)
            os.close(self.fd)
            self.fd = -1
        queue, self.queue = self.queue, collections.deque()
        for data in queue:
            self._took(len(data))


class Download:
    """What comes out of a pipe, on its way to a client.  on_end() at the end of the pipe."""

    def __init__(self, loop, call, fd, on_end):
        self.loop = loop
        self.call = call
        self.fd = fd
        self.on_end = on_end
        self.credit = WINDOW
        self.bytes = 0
        os.set_blocking(fd, False)
        loop.watch(fd, self._readable)

    def on_credit(self, size):
        stood = self.credit == 0
        self.credit += size
        if self.credit > WINDOW:
            raise frames.FrameError("more credit than its window")
        if stood and self.fd >= 0:
            self.loop.watch(self.fd, self._readable)

    def _readable(self, _events):
        try:
            data = os.read(self.fd, min(READ, self.credit))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            self.on_end()
            return
        self.bytes += len(data)
        self.credit -= len(data)
        if self.call.client:
            self.call.client.send({"type": "chunk", "id": self.call.id}, data)
        if self.credit == 0:
            self.loop.forget(self.fd)

    def close(self):
        if self.fd >= 0:
            self.loop.forget(self.fd)
            os.close(self.fd)
            self.fd = -1
