"""The supervisor's side of one kernel: its control socket, its output pipes, its wait status."""

import array
import collections
import fcntl
import os
import socket
import termios

from _sandcell import frames
from _sandcell.loop import POLLIN, POLLOUT

READ = 65536
PIPE_SIZE = 1 << 20
LAST_WORDS = 2048  # reads: a child that outlives it may still write


def make_pipe():
    """(read end, write end); the user may open the write end again through /proc."""
    reading, writing = os.pipe()
    os.fchmod(writing, 0o222)
    os.set_blocking(reading, False)
    try:
        fcntl.fcntl(writing, 1031, PIPE_SIZE)  # F_SETPIPE_SZ
    except OSError:
        pass  # over the user's pipe allowance: the usual 64 KiB will do
    return reading, writing


def waiting(fd):
    """Bytes that a pipe holds right now."""
    count = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]


class KernelLink:
    """on_frame(header, content), on_output(stream, data), on_broken(reason) are the owner's."""

    def __init__(self, loop, owner):
        self.loop = loop
        self.owner = owner
        self.pid = 0
        self.control, self.peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.control.setblocking(False)
        self.reader = frames.Reader(frames.MAX_CONTENT + frames.MAX_PAYLOAD)
        self.pipes = {}  # stream -> read end
        self.ends = []
        for stream in (1, 2):
            reading, writing = make_pipe()
            self.pipes[stream] = reading
            self.ends.append(writing)
        self.queue = collections.deque()
        self.reading = False
        self.broken = False  # nothing more can be believed of the control socket

    def fork(self, zygote, request, stdin=-1):
        """Asks the zygote for a process on the other ends; raises ZygoteError."""
        null = os.open("/dev/null", os.O_RDONLY)
        try:
            self.pid = zygote.fork(
                request, [self.peer.fileno(), null if stdin < 0 else stdin, *self.ends]
            )
        finally:
            os.close(null)
            self._close_ends()
        self.resume()

    def hand_to(self, sock):
        """Gives the other ends to a process that waits for them: [control, stdout, stderr]."""
        socket.send_fds(sock, [b"f"], [self.peer.fileno(), *self.ends])
        self._close_ends()
        self.resume()

    def _close_ends(self):
        self.peer.close()
        for fd in self.ends:
            os.close(fd)
        self.ends = []

    # ---- output

    def resume(self):
        if not self.reading:
            self.reading = True
            self._watch_control()
            for stream, fd in self.pipes.items():
                self.loop.watch(fd, lambda _events, stream=stream: self._pipe_readable(stream))

    def pause(self):
        """The client is behind: neither output nor displays are read until it has caught up."""
        if self.reading:
            self.reading = False
            if not self.queue:
                self.loop.forget(self.control.fileno())
            for fd in self.pipes.values():
                self.loop.forget(fd)

    def take_pipe(self, stream):
        """Gives the read end of an output pipe away."""
        fd = self.pipes.pop(stream)
        self.loop.forget(fd)
        return fd

    def _pipe_readable(self, stream):
        fd = self.pipes[stream]
        try:
            data = os.read(fd, READ)
        except BlockingIOError:
            return
        if data:
            self.owner.on_output(stream, data)
        else:
            # Every write end is closed: nothing will come from this kernel any more.
            self.loop.forget(fd)

    def drain(self):
        """Takes what the pipes hold now, and no more: a leftover child may write for ever."""
        for stream, fd in self.pipes.items():
            left = waiting(fd)
            while left > 0:
                data = os.read(fd, min(left, READ))
                if not data:
                    break
                left -= len(data)
                self.owner.on_output(stream, data)

    # ---- control

    def send(self, header, content=b""):
        data = frames.pack(header, content)
        if not self.queue:
            try:
                sent = self.control.send(data)
            except BlockingIOError:
                sent = 0
            except OSError:
                return  # its end is reported by the readable side
            if sent == len(data):
                return
            data = memoryview(data)[sent:]
            self.loop.watch(self.control.fileno(), self._control_ready, POLLIN | POLLOUT)
        self.queue.append(data)

    def _control_ready(self, events):
        if events & POLLOUT:
            self._flush()
        if events & ~POLLOUT:
            self._control_readable(events)

    def _flush(self):
        while self.queue:
            try:
                sent = self.control.send(self.queue[0])
            except BlockingIOError:
                return
            except OSError:
                self.queue.clear()
                break
            if sent < len(self.queue[0]):
                self.queue[0] = self.queue[0][sent:]
                return
            self.queue.popleft()
        self._watch_control()

    def _watch_control(self):
        fd = self.control.fileno()
        if fd < 0 or self.broken:
            return
        if self.reading:
            self.loop.watch(fd, self._control_readable)
        else:
            self.loop.forget(fd)

    def _control_readable(self, _events=0):
        """One read, so that timers and other clients get their turn whatever comes here; True while
        there may be more.  The end of the socket, and what is no frame, are reported as broken."""
        try:
            data = self.control.recv(READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._break("closed its control descriptor")
            return False
        self.reader.feed(data)
        try:
            frame = self.reader.next()
            while frame:
                self._check(*frame)
                frame = self.reader.next()
        except frames.FrameError as error:
            self._break("wrote nonsense to its control descriptor (%s)" % error)
            return False
        return self.control.fileno() >= 0

    def _break(self, reason):
        self.broken = True
        self.loop.forget(self.control.fileno())
        self.owner.on_broken(reason)

    def _check(self, header, content):
        size = frames.parts_size(header)
        if size is not None and size != len(content):
            raise frames.FrameError("parts and payload differ")
        self.owner.on_frame(header, content)

    def read_last_words(self):
        """After its end: frames and output that it wrote before."""
        left = LAST_WORDS
        while self.control.fileno() >= 0 and not self.broken and left > 0 and self._control_readable():
            left -= 1
        self.drain()

    def close(self):
        self.pause()
        if self.control.fileno() >= 0:
            self.loop.forget(self.control.fileno())
            self.control.close()
        self._close_ends()
        for fd in self.pipes.values():
            os.close(fd)
        self.pipes = {}
        self.queue.clear()
