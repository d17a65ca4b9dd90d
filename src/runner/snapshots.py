"""snapshot and restore: calls that the kernel of the moment, or the next one, does the work for.

An operation is a call in the queue of python.Python with an object in `call.operation`:

    begin()                        its turn has come
    on_kernel_frame(header, content)   the kernel says something about it
    stop(reason)                   it is to end: "timeout", "interrupted"
    on_kernel_ended(text)          the kernel has died under it
    needs_kernel                   whether that is its end, too
"""

import os

from _sandcell import flow, frames, procs
from _sandcell.calls import BadField, number_field
from _sandcell.kernel_link import KernelLink
from _sandcell.zygote_link import ZygoteError

STALL_MS = 20_000
GRACE_MS = 2000  # for a fork, or for an interrupt to arrive
NAME_CHARS = 200
WORDS_KEPT = 4096


def _names(header, field):
    names = header.get(field, [])
    if type(names) is not list or not all(type(name) is str for name in names):
        raise BadField("%s is not a list of names" % field)
    return names


class Saving:
    """One snapshot: begun by the kernel, done by a fork of it while the kernel goes on."""

    needs_kernel = True

    def __init__(self, python, call, on_finished):
        self.python = python
        self.loop = python.loop
        self.call = call
        self.on_finished = on_finished
        self.exclude = _names(call.header, "exclude")
        self.inline = call.header.get("inline") is True
        self.stall_ms = number_field(call.header, "stall_ms", STALL_MS) or STALL_MS
        self.link = None
        self.stream = None
        self.pid = 0
        self.done = None
        self.at = ""  # the variable that is being saved
        self.words = b""
        self.stopping = None
        self.moved = (0, "")  # where it was when last looked at
        self.stall = None

    # ---- with the kernel

    def begin(self):
        self.link = KernelLink(self.loop, self)
        header = {"type": "snapshot", "id": self.call.id, "cell": self.python.cell}
        header.update(exclude=self.exclude, inline=self.inline)
        self.python.kernel.send(header)

    def on_kernel_frame(self, header, _content):
        kind = header["type"]
        if kind == "ready" and not self.stream:
            self.link.hand_to(self.python.kernel.control)
            self.stream = flow.Download(self.loop, self.call, self.link.take_pipe(1), self._end)
            self.stall = self.loop.after(self.stall_ms, self._watch_stall)
        elif kind == "reply" and self.stream:
            self._forked(header)
        else:
            raise frames.FrameError("unexpected %.40r" % kind)

    def _forked(self, header):
        pid = header.get("pid")
        if not self.inline and procs.is_child(self.python.uid, pid):
            self.pid = pid
        else:
            self.link.read_last_words()  # it has ended by now
        if self.stopping:
            self._finish(self.stopping, self.stopping.encode())
        elif header.get("status") == "error":
            self._finish("error", ("%.500s" % header.get("reason")).encode("utf-8", "replace"))
        elif not self.pid and not self.done:
            self._finish("error", b"saving has ended early")
        self.python.release(self.call)

    def on_kernel_ended(self, text):
        """Before it had forked."""
        self._finish("error", text)

    # ---- what comes from the process that saves

    def on_output(self, _stream, data):
        self.words = (self.words + data)[-WORDS_KEPT:]

    def on_broken(self, _reason):
        pass  # its end follows

    def on_frame(self, header, content):
        kind = header["type"]
        if kind == "at" and not self.done:
            self.at = str(header.get("name"))[:NAME_CHARS]
        elif kind == "done" and not self.done:
            self.done = header, frames.split_parts(header, content)
            self._end()
        else:
            raise frames.FrameError("unexpected %.40r" % kind)

    def _watch_stall(self):
        """No byte and no new name for so long: whatever the fork waits for will not come."""
        now = (self.stream.bytes, self.at)
        if now == self.moved and self.stream.credit and not self.inline:
            self._finish("error", b"the fork of the Python process stands still", stalled=True)
            return
        self.moved = now
        self.stall = self.loop.after(self.stall_ms, self._watch_stall)

    def on_child_ended(self, status):
        self.link.read_last_words()
        if self.call.finished or self.done:
            return
        if os.WIFSIGNALED(status):
            how = "was killed by signal %d" % os.WTERMSIG(status)
        else:
            how = "ended with exit status %d" % os.WEXITSTATUS(status)
        text = "the process that saves the state %s while it saved '%s' " % (how, self.at)
        self._finish("error", text.encode("utf-8", "replace") + self.words, stopped_at=self.at)

    # ---- the end

    def _end(self):
        """When the process has said what it wrote, and all of it has been passed on."""
        if self.stream.fd >= 0 or self.call.finished or self.stopping:
            return
        if self.done:
            header, parts = self.done
            if header.get("bytes") != self.stream.bytes:
                self._finish("error", b"the state was cut inside the container")
            else:
                self._finish("ok", parts.get("report", b""), sha256=str(header.get("sha256"))[:64])

    def stop(self, reason):
        """While the kernel is at it, it has to come to an end with that first."""
        if self.stopping or self.call.finished:
            return
        self.stopping = reason
        if self.python.call is not self.call:
            self._finish(reason, reason.encode())
            return
        if self.inline:
            procs.interrupt(self.python.kernel.pid)
        self.loop.cancel(self.call.timer)
        self.call.timer = self.loop.after(
            max(self.call.grace_ms, GRACE_MS), lambda: self.python.kill_call(self.call, reason)
        )

    def _finish(self, status, text, **fields):
        if self.call.finished:
            return
        self.loop.cancel(self.call.timer)
        self.loop.cancel(self.stall)
        if self.stream:
            self.stream.close()
        if self.link:
            self.link.close()
        if self.pid:
            procs.kill_session(self.python.uid, self.pid)
        if status == "ok":
            fields.update(bytes=self.stream.bytes, forked=not self.inline)
        self.call.finish(
            status, [("report" if status == "ok" else "error", text)], state_preserved=True, **fields
        )
        self.on_finished(self)


class Restoring:
    """One restore: a fresh kernel loads the state and takes the place of the other one at the end."""

    needs_kernel = False

    def __init__(self, python, call, on_finished):
        self.python = python
        self.loop = python.loop
        self.call = call
        self.on_finished = on_finished
        self.link = None
        self.pid = 0
        self.loaded = None
        self.reading, writing = flow.make_pipe()
        self.stream = flow.Upload(self.loop, call, writing, self._sent)

    def begin(self):
        self.link = KernelLink(self.loop, self)
        try:
            self.link.fork(self.python.zygote, {"kind": "kernel", "restore": True}, self.reading)
        except ZygoteError as error:
            self._fail("error", str(error).encode())
            return
        finally:
            self._close_reading()
        self.pid = self.link.pid

    def _close_reading(self):
        if self.reading >= 0:
            os.close(self.reading)
            self.reading = -1

    # ---- what the new kernel says

    def on_output(self, stream, data):
        self.call.send_output(stream, data)

    def on_broken(self, _reason):
        pass  # its end follows

    def on_frame(self, header, content):
        if header["type"] != "restored" or self.loaded:
            raise frames.FrameError("unexpected %.40r" % header["type"])
        self.loaded = header, frames.split_parts(header, content)
        if header.get("status") != "ok":
            self._fail("error", self.loaded[1].get("report", b""))
        else:
            self._commit()

    def on_child_ended(self, status):
        self.link.read_last_words()
        if not self.call.finished:
            self._fail("error", b"the Python process that loads the state ended early (wait status %d)" % status)

    def _sent(self, header):
        if header.get("abort") is True:
            self._fail("interrupted", b"the client gave up")
        else:
            self._commit()

    def _commit(self):
        last = self.stream.last
        if not self.loaded or not last or self.stream.fd >= 0:
            return
        header, parts = self.loaded
        if any(header.get(name) != last.get(name) for name in ("bytes", "sha256")):
            self._fail("error", b"the state was damaged on its way")
            return
        self.loop.cancel(self.call.timer)
        link, self.link = self.link, None
        cell = header.get("cell")
        self.python.adopt(link, cell if type(cell) is int and 0 <= cell < 1 << 31 else 0)
        self.call.finish("ok", [("report", parts.get("report", b""))], state_preserved=False)
        self.on_finished(self)
        self.python.release(self.call)

    # ---- the end

    def stop(self, reason):
        self._fail(reason, reason.encode())

    def on_kernel_ended(self, text):
        pass  # the old one; this call does not need it

    def _fail(self, status, text):
        if self.call.finished:
            return
        self.loop.cancel(self.call.timer)
        self.stream.close()
        self._close_reading()
        if self.link:
            self.link.close()
        if self.pid:
            procs.kill_session(self.python.uid, self.pid)
        self.call.finish(status, [("error", text)], state_preserved=True)
        self.on_finished(self)
        self.python.release(self.call)
