"""Descriptors 0, 1, 2 and the Python streams on them, as they are at the start of each cell."""

import builtins
import fcntl
import io
import os
import sys

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

HIGHEST = 4096  # a table of descriptors up to here is 32 KiB, and copied by each fork

_dup2, _close, _open, _write, _lseek = os.dup2, os.close, os.open, os.write, os.lseek
_fcntl = fcntl.fcntl


def _load_fflush():
    """fflush(NULL) of the C library, or nothing where it cannot be reached."""
    try:
        import ctypes

        libc = ctypes.PyDLL(None)  # keeps the GIL: a busy thread cannot hold up the end of a cell
        flush = libc.fflush
        flush.argtypes = [ctypes.c_void_p]
        return libc, flush, ctypes
    except Exception:
        return None, (lambda _file: 0), None


_libc, _fflush, _ctypes = _load_fflush()


def _line_buffer_c():
    """printf arrives line by line, in order with print, as on a terminal."""
    if _libc is not None:
        try:
            stdout = _ctypes.c_void_p.in_dll(_libc, "stdout")
            _libc.setvbuf(stdout, None, 1, 0)  # _IOLBF, the same number in every libc of Linux
        except (ValueError, AttributeError):
            pass


def move_high(fd):
    """A private duplicate out of reach of code that walks the first descriptors."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY or limit > HIGHEST:
        limit = HIGHEST
    for lowest in (limit - 16, 3):
        try:
            return _fcntl(fd, fcntl.F_DUPFD_CLOEXEC, max(lowest, 3))
        except OSError:
            pass  # all taken up there
    raise OSError("no descriptor is free")


def _writer(fd, name, errors):
    raw = io.FileIO(fd, "w", closefd=False)
    raw.name = name
    # Lines go out as they end: a cell that is killed has shown what it printed.
    text = io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", errors, "\n", line_buffering=True)
    text.mode = "w"
    return text


def _reader():
    raw = io.FileIO(0, "r", closefd=False)
    raw.name = "<stdin>"
    text = io.TextIOWrapper(io.BufferedReader(raw), "utf-8", "surrogateescape")
    text.mode = "r"
    return text


def _closed(stream):
    try:
        return stream.closed
    except ValueError:  # detached
        return True


class Streams:
    def __init__(self):
        self.renew()
        self.stdin = self.stdout = self.stderr = None
        _line_buffer_c()

    def attach(self, stdout=1, stderr=2):
        """Takes these as the pipes of the coming cells."""
        for fd in self.fds.values():
            _close(fd)
        self.fds = {1: move_high(stdout), 2: move_high(stderr)}
        self.out_fd, self.err_fd = self.fds[1], self.fds[2]

    def let_go(self):
        """In a fork: the descriptors are those of another process."""
        self.fds = {}
        self.null = -1

    def renew(self):
        """In a fork that is to be a kernel: before attach()."""
        self.let_go()
        null = _open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        self.null = move_high(null)
        _close(null)

    def private_fds(self):
        return [self.null, *self.fds.values()]

    def begin(self):
        """Everything as it should be, whatever the last cell did to it."""
        _dup2(self.null, 0)
        _dup2(self.out_fd, 1)
        _dup2(self.err_fd, 2)
        # Some programs leave the pipe of their output non-blocking (node, asyncio).
        _fcntl(1, fcntl.F_SETFL, 0)
        _fcntl(2, fcntl.F_SETFL, 0)
        # First assign, then look: a wrapper of the user's closes the stream below when it dies.
        sys.stdout = sys.__stdout__ = self.stdout
        sys.stderr = sys.__stderr__ = self.stderr
        sys.stdin = sys.__stdin__ = self.stdin
        if self.stdout is None or _closed(self.stdout):
            self.stdout = sys.stdout = sys.__stdout__ = _writer(1, "<stdout>", "surrogateescape")
        if self.stderr is None or _closed(self.stderr):
            self.stderr = sys.stderr = sys.__stderr__ = _writer(2, "<stderr>", "backslashreplace")
        if self.stdin is None or _closed(self.stdin):
            self.stdin = sys.stdin = sys.__stdin__ = _reader()

    def claim_stdin(self):
        """What descriptor 0 is now, out of the way of user code."""
        fd = move_high(0)
        _dup2(self.null, 0)
        return fd

    def give(self, data):
        """After begin: what the coming cell reads from its stdin."""
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("stdin")
        else:
            import tempfile

            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
        view = memoryview(data)
        while view:
            view = view[_write(fd, view) :]
        _lseek(fd, 0, 0)
        _dup2(fd, 0)
        _close(fd)
        sys.stdin = sys.__stdin__ = _reader()
        self.stdin = None  # what it has read ahead is not for the next cell

    def flush(self, theirs=True):
        """Ours and what the user put in their place; never raises but for a signal's handler."""
        for stream, ours, fd in ((sys.stdout, self.stdout, 1), (sys.stderr, self.stderr, 2)):
            if theirs and stream is not ours and stream is not None:
                try:
                    stream.flush()
                except Exception:
                    pass
            try:
                ours.flush()
            except ValueError:
                pass  # closed by the user
            except Exception:
                self._discard(ours, fd)

    def _discard(self, stream, fd):
        """Text that could not be written belongs to this cell, not to the next."""
        try:
            _dup2(self.null, fd)
            stream.flush()
            _dup2(self.fds[fd], fd)
        except Exception:
            pass

    def finish(self, theirs):
        self.flush(theirs)
        _fflush(None)
