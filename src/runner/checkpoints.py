"""checkpoint, rollback, forget, and `recover` of execute: copies of the kernel that stand still.

A copy is a fork of the kernel (copies.py) with a socket of its own; a rollback sends new descriptors
there, and what the copy then forks becomes the kernel, while the copy stays for another time.
"""

import collections
import json
import os
import socket

from _sandcell import frames, procs
from _sandcell.calls import number_field
from _sandcell.kernel_link import KernelLink

MAX_COPIES = 8
OOM_COPY = 500  # before the supervisor, behind the kernel
REVIVE_MS = 10_000
GRACE_MS = 2000
LOST = b"variables are lost"
KEPT = b"variables are as they were before it"


class Copy:
    def __init__(self, number, pid, sock):
        self.number = number
        self.pid = pid
        self.sock = sock


class Checkpoints:
    """All copies of a session."""

    def __init__(self, python):
        self.python = python
        self.copies = collections.OrderedDict()
        self.safety = None  # of the execute that runs with `recover`
        self.revivals = []
        self.next = 1

    def sessions(self):
        safety = [self.safety] if self.safety else []
        found = [copy.pid for copy in (*self.copies.values(), *safety)]
        return found + [revival.pid for revival in self.revivals if revival.pid]

    def add(self, pid, sock):
        """Keeps it; the oldest goes when there are too many."""
        copy = Copy(self.next, pid, sock)
        self.next += 1
        self.copies[copy.number] = copy
        while len(self.copies) > MAX_COPIES:
            self.end(self.copies.popitem(last=False)[1])
        return copy

    def end(self, copy):
        copy.sock.close()
        procs.kill_session(self.python.uid, copy.pid)

    def forget(self, number):
        copy = self.copies.pop(number, None)
        if copy:
            self.end(copy)
        return copy is not None

    def drop_safety(self):
        copy, self.safety = self.safety, None
        if copy:
            self.end(copy)

    def clear(self):
        for revival in list(self.revivals):
            revival.cancel()
        self.drop_safety()
        while self.copies:
            self.end(self.copies.popitem()[1])

    def on_child_ended(self, pid, status):
        """Whether it was one of ours."""
        for revival in list(self.revivals):
            if revival.pid == pid:
                revival.on_child_ended(status)
                return True
        for number, copy in list(self.copies.items()):
            if copy.pid == pid:
                del self.copies[number]
                copy.sock.close()
                return True
        if self.safety and self.safety.pid == pid:
            self.safety.sock.close()
            self.safety = None
            return True
        return False

    def revive(self, copy, on_done):
        Revival(self, copy, on_done)


class Taking:
    """Makes one copy, as an operation of its call; then(pid, sock, report, reason) is told."""

    needs_kernel = True

    def __init__(self, python, call, then):
        self.python = python
        self.call = call
        self.then = then
        self.sock = None
        self.stopping = None

    def begin(self):
        self.python.kernel.send({"type": "checkpoint", "id": self.call.id})

    def on_kernel_frame(self, header, _content):
        kind = header["type"]
        if kind == "ready" and not self.sock:
            self.sock, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with other:
                socket.send_fds(self.python.kernel.control, [b"f"], [other.fileno()])
        elif kind == "reply":
            self._done(header)
        else:
            raise frames.FrameError("unexpected %.40r" % kind)

    def _done(self, header):
        pid = header.get("pid")
        if self.sock and header.get("status") != "error" and procs.is_child(self.python.uid, pid):
            procs.set_oom_score(self.python.uid, pid, OOM_COPY)
            report = {name: header.get(name) for name in ("children", "sockets", "shared_maps")}
            self.then(pid, self.sock, report, None)
            return
        if self.sock:
            self.sock.close()
        self.then(0, None, None, ("%.500s" % header.get("reason", "the copy has ended")).encode("utf-8", "replace"))

    def stop(self, reason):
        """The kernel is at it: it ends with that first, or it is killed."""
        if not self.stopping:
            self.stopping = reason
            loop = self.python.loop
            loop.cancel(self.call.timer)
            self.call.timer = loop.after(
                max(self.call.grace_ms, GRACE_MS), lambda: self.python.kill_call(self.call, reason)
            )

    def on_kernel_ended(self, text):
        if self.sock:
            self.sock.close()
        self.call.finish(self.stopping or "error", [("error", text)], state_preserved=False)


class Revival:
    """Makes a kernel of a copy; on_done(why) is called once, with None when it is the kernel now."""

    def __init__(self, checkpoints, copy, on_done):
        self.python = checkpoints.python
        self.checkpoints = checkpoints
        self.on_done = on_done
        self.pid = 0
        self.link = KernelLink(self.python.loop, self)
        self.timer = self.python.loop.after(REVIVE_MS, lambda: self._fail(b"it did not answer in time"))
        checkpoints.revivals.append(self)
        try:
            self.link.hand_to(copy.sock)
        except OSError as error:
            self._fail(os.strerror(error.errno).encode())

    def on_output(self, _stream, _data):
        pass

    def on_broken(self, reason):
        self._fail(reason.encode())

    def on_child_ended(self, status):
        self._fail(b"it ended at once (wait status %d)" % status)

    def on_frame(self, header, _content):
        pid = header.get("pid")
        if header["type"] != "alive" or not procs.is_child(self.python.uid, pid):
            raise frames.FrameError("unexpected %.40r" % header["type"])
        self.link.pid = pid
        self._leave()
        self.python.take_over(self.link)
        self.on_done(None)

    def _leave(self):
        self.checkpoints.revivals.remove(self)
        self.python.loop.cancel(self.timer)

    def _fail(self, why):
        if self in self.checkpoints.revivals:
            self.cancel()
            self.on_done(why)

    def cancel(self):
        self._leave()
        self.link.close()


class Checkpoint(Taking):
    """The call `checkpoint`."""

    def __init__(self, python, call):
        super().__init__(python, call, self._taken)

    def _taken(self, pid, sock, report, reason):
        python, call = self.python, self.call
        python.loop.cancel(call.timer)
        if reason is not None:
            call.finish("error", [("error", b"no checkpoint was made: " + reason)], state_preserved=True)
        else:
            copy = python.checkpoints.add(pid, sock)
            text = json.dumps(report).encode("ascii")
            call.finish("ok", [("report", text)], state_preserved=True, checkpoint=copy.number)
        python.release(call)


class Rollback:
    """The call `rollback`."""

    needs_kernel = False

    def __init__(self, python, call):
        self.python = python
        self.call = call
        self.number = number_field(call.header, "checkpoint", 0)

    def begin(self):
        python = self.python
        copy = python.checkpoints.copies.get(self.number)
        if not copy:
            self._end("error", b"there is no checkpoint %d" % self.number, True)
            return
        python.stop()
        python.checkpoints.revive(copy, self._revived)

    def _revived(self, why):
        if why is None:
            self._end("ok", b"", True)
        else:
            self.python.start()
            text = b"the checkpoint could not be revived: %s; variables are lost" % why
            self._end("error", text, False)

    def _end(self, status, text, preserved):
        self.python.loop.cancel(self.call.timer)
        self.call.finish(status, [("error", text)], state_preserved=preserved)
        self.python.release(self.call)

    def on_kernel_frame(self, header, _content):
        raise frames.FrameError("unexpected %.40r" % header["type"])

    def stop(self, reason):
        """Once begun it takes milliseconds and has a deadline of its own; a reset has cancelled it."""
        if self.python.call is not self.call and not self.call.finished:
            self.call.finish(reason, [("error", b"interrupted before it began")], state_preserved=True)
        elif not self.call.finished and not self.python.checkpoints.revivals:
            self._end(reason, reason.encode(), False)
