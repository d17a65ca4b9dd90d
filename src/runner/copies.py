"""The kernel's part in checkpoints: a copy of it that stands still, and makes another one go on.

The copy is a fork.  It waits with all signals blocked on a socket of its own, with nothing open that
others could miss: pipes and sockets become /dev/null in it.  To roll back, it is sent new descriptors
and forks once more; that process becomes the kernel, and the copy waits for the next time.
"""

import _signal
import _socket
import array
import builtins
import fcntl
import os
import stat
import time

from _sandcell import persist

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

NAMED = 20  # of each kind, in the report
SETTLE_S = 0.05  # for a thread that is ending to be gone from /proc

_exit, _getpid = os._exit, os.getpid
_set_mask = _signal.pthread_sigmask
_block, _replace = int(_signal.SIG_BLOCK), int(_signal.SIG_SETMASK)
_everything = _signal.valid_signals


class Copies:
    def __init__(self, kernel):
        self.kernel = kernel

    def checkpoint(self, header, _content):
        """Answers `reply` with the reason against it, or `ready`, is given the copy's socket, and
        answers `reply` with the copy's pid.  True in a process that a copy has made: see serve()."""
        kernel = self.kernel
        number = header["id"]
        reply = {"type": "reply", "id": number}
        threads = persist.other_threads()
        if threads:
            reply.update(status="error", reason="threads are running, which a fork does not copy: %s" % ", ".join(threads[:NAMED]))
            kernel.send(reply)
            return False
        kernel.send({"type": "ready", "id": number})
        (sock,) = persist.take_fds(kernel.control, 1)
        kept = self._keep()
        try:
            pid = persist.fork_away()
        except OSError as error:
            reply.update(status="error", reason=str(error))
            pid = 0
        if pid is None:
            return self._freeze(sock, kept)
        os.close(sock)
        if pid and _native_threads():
            reply.update(status="error", reason="threads of a library remain (OpenMP, for one)")
        elif pid:
            reply.update(report(), pid=pid)
        kernel.send(reply)
        return False

    @staticmethod
    def _keep():
        """What has to be looked up before the fork: `random` is reseeded by it, and the offsets of
        open files are shared with the process that goes on."""
        return persist.random_states(), _open_files()

    # ---- in the copy

    def _freeze(self, sock, kept):
        mask = _set_mask(_block, _everything())
        _let_go(sock)
        self.kernel.control = -1
        self.kernel.streams.let_go()
        while True:
            fds = _receive(sock)
            if fds is None:
                _exit(0)
            try:
                if persist.fork_away() is None:
                    os.close(sock)
                    self._revive(fds, kept, mask)
                    return True
            except OSError:
                pass  # the supervisor sees that nobody answers
            for fd in fds:
                os.close(fd)

    def _revive(self, fds, kept, mask):
        states, files = kept
        kernel = self.kernel
        _reopen(files)
        control, stdout, stderr = fds
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        kernel.become(control, stdout, stderr)
        os.close(stdout)
        os.close(stderr)
        persist.set_random_states(states)
        _set_mask(_replace, mask)
        kernel.send({"type": "alive", "pid": _getpid()})


def _receive(sock):
    """The descriptors of a process to be made; None when nobody will ask any more."""
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, sock)
    try:
        data, messages, _flags, _address = link.recvmsg(1, _socket.CMSG_SPACE(4 * persist.MAX_FDS))
    except OSError:
        return None
    finally:
        link.detach()
    fds = array.array("i")
    for _level, _kind, found in messages:
        fds.frombytes(found[: len(found) - len(found) % 4])
    return list(fds) if data and len(fds) == 3 else None


# ---- descriptors


def _descriptors():
    """(number, what it is) of all that are open."""
    for name in os.listdir("/proc/self/fd"):
        try:
            yield int(name), os.readlink("/proc/self/fd/" + name)
        except OSError:
            pass  # that of the listing


def _let_go(sock):
    """Pipes, sockets and stdio become /dev/null: a reader at another end would wait for us for ever."""
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for fd, target in list(_descriptors()):
        if fd in (sock, null):
            continue
        if fd <= 2 or target.startswith(("pipe:", "socket:")):
            os.dup2(null, fd, inheritable=fd <= 2)
    os.close(null)


def _open_files():
    """[(descriptor, flags, offset)] of the regular files that are open."""
    found = []
    for fd, _target in _descriptors():
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                found.append((fd, fcntl.fcntl(fd, fcntl.F_GETFL), os.lseek(fd, 0, os.SEEK_CUR)))
        except OSError:
            pass
    return found


def _reopen(files):
    """With an offset of its own, where it was at the checkpoint."""
    for fd, flags, offset in files:
        try:
            new = os.open("/proc/self/fd/%d" % fd, flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC))
        except OSError:  # Landlock knows no path to a file without a name
            os.lseek(fd, offset, os.SEEK_SET)
            continue
        try:
            os.lseek(new, offset, os.SEEK_SET)
            os.dup2(new, fd, inheritable=os.get_inheritable(fd))
        finally:
            os.close(new)


# ---- what a rollback will not bring back


def _native_threads():
    """Whether threads are left that no fork handler of their library has ended."""
    until = time.monotonic() + SETTLE_S
    while len(os.listdir("/proc/self/task")) > 1:
        if time.monotonic() > until:
            return True
        time.sleep(0.001)
    return False


def report():
    sockets = sum(target.startswith("socket:") for _, target in _descriptors())
    return {
        "children": _children(),
        "sockets": max(sockets - 1, 0),  # one is ours
        "shared_maps": _shared_maps(),
    }


def _children():
    try:
        with open("/proc/self/task/%d/children" % _getpid()) as file:
            return [int(pid) for pid in file.read().split()][:NAMED]
    except OSError:
        return []


def _shared_maps():
    found = []
    with open("/proc/self/maps") as file:
        for line in file:
            fields = line.split(None, 5)
            if fields[1][1] == "w" and fields[1][3] == "s":
                found.append(fields[5].strip()[:200] if len(fields) > 5 else "anonymous")
    return found[:NAMED]
