"""One connected client: its two descriptors, frames in, a bounded queue of frames out."""

import collections
import os

from _sandcell import frames
from _sandcell.loop import POLLIN, POLLOUT

READ = 65536  # a larger read costs mmap and munmap each time
QUEUE_HIGH = 1 << 20  # above this nobody reads more output for this client


class Client:
    """on_frame(client, header, content), on_gone(client), on_drained() are the owner's."""

    def __init__(self, loop, connection, fds, on_frame, on_gone, on_drained):
        self.loop = loop
        self.connection = connection  # its end makes the connector exit
        self.fd_in, self.fd_out = fds
        self.on_frame, self.on_gone, self.on_drained = on_frame, on_gone, on_drained
        self.reader = frames.Reader()
        self.assembler = frames.Assembler()
        self.queue = collections.deque()
        self.queued = 0
        self.said_hello = False
        self.name = None
        self.observes = False  # looks on: the session does not live for it
        self.closing = False
        os.set_blocking(self.fd_in, False)
        os.set_blocking(self.fd_out, False)
        loop.watch(self.fd_in, self._readable)

    @property
    def full(self):
        return self.queued > QUEUE_HIGH

    def _readable(self, _events):
        try:
            data = os.read(self.fd_in, READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self.reader.feed(data)
        self._dispatch()

    def _dispatch(self):
        try:
            frame = self.reader.next()
            while frame and not self.closing:
                whole = self.assembler.add(*frame)
                if whole:
                    self.on_frame(self, *whole)
                frame = self.reader.next()
        except frames.FrameError as error:
            self.fail(str(error))

    def send(self, header, payload=b""):
        self._write(frames.pack(header, payload))

    def send_call(self, header, content=b""):
        self._write(frames.pack_call(header, content))

    def fail(self, message):
        """Tells the client what it did wrong and lets go of it."""
        self.send({"type": "error", "message": message[:1000]})
        self.closing = True
        self.loop.forget(self.fd_in)
        if not self.queue:
            self.close()

    def _write(self, data):
        if self.fd_out < 0:
            return
        if not self.queue:
            try:
                sent = os.write(self.fd_out, data)
            except BlockingIOError:
                sent = 0
            except OSError:
                self.close()
                return
            if sent == len(data):
                return
            data = memoryview(data)[sent:]
            self.loop.watch(self.fd_out, self._writable, POLLOUT)
        self.queue.append(memoryview(data))  # cut from the front without copying
        self.queued += len(data)

    def _writable(self, _events):
        was_full = self.full
        while self.queue:
            data = self.queue[0]
            try:
                sent = os.write(self.fd_out, data)
            except BlockingIOError:
                break
            except OSError:
                self.close()
                return
            self.queued -= sent
            if sent < len(data):
                self.queue[0] = data[sent:]
                break
            self.queue.popleft()
        if not self.queue:
            self.loop.forget(self.fd_out)
            if self.closing:
                self.close()
                return
        if was_full and not self.full:
            self.on_drained()

    def close(self):
        if self.fd_in < 0:
            return
        for fd in (self.fd_in, self.fd_out):
            self.loop.forget(fd)
            os.close(fd)
        self.fd_in = self.fd_out = -1
        self.queue.clear()
        self.queued = 0
        self.connection.close()
        self.on_gone(self)
