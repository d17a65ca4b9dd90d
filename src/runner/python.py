"""The Python of a session: one kernel at a time, calls one after another, and a verdict for every end.

A verdict comes from the wait status and the cgroup's counter; what the kernel says is believed only
where it harms nobody but the code itself.
"""

import collections
import os
import re
import signal

from _sandcell import frames, procs
from _sandcell.calls import seconds
from _sandcell.checkpoints import KEPT, LOST, Checkpoints, Copy, Taking
from _sandcell.kernel_link import KernelLink

LATE_KEPT = 65536
KERNEL_STATUS = {"ok", "error", "exited"}
OUTPUT_KINDS = {"none", "json", "repr"}
DISPLAY_MAX = 32 << 20
MIME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*/[A-Za-z0-9][A-Za-z0-9.+_;= -]*")
SILENT_DEATH_MS = 500  # from a closed control socket to the end of its process


class Python:
    def __init__(self, loop, setup, zygote, oom, keep_sessions, reap):
        self.loop = loop
        self.uid = setup["uid"]
        self.zygote = zygote
        self.oom = oom
        self.keep_sessions = keep_sessions  # command pipelines that run beside
        self.reap = reap
        self.kernel = None
        self.call = None
        self.queue = collections.deque()
        self.cell = 0
        self.calls = 0
        self.late = {1: bytearray(), 2: bytearray()}
        self.late_dropped = {1: 0, 2: 0}
        self.broken = None  # why the kernel has to go
        self.broken_timer = None
        self.draining = None  # the `done` that waits for `drained`
        self.checkpoints = Checkpoints(self)

    # ---- the kernel

    def start(self):
        """Forks a kernel; raises ZygoteError."""
        self.broken = None
        kernel = KernelLink(self.loop, self)
        try:
            kernel.fork(self.zygote, {"kind": "kernel"})
        except BaseException:
            kernel.close()
            raise
        self.kernel = kernel

    def stop(self):
        """Kills everything of the user but command pipelines; True once it is proven gone."""
        if self.kernel:
            self.kernel.close()
            self.kernel = None
        self.loop.cancel(self.broken_timer)
        self.broken_timer = None
        gone = procs.kill_user(self.uid, keep_sessions=self.keep_sessions())
        self.reap()  # zombies count against the pids limit
        return gone

    def reset(self):
        """Everything forgotten but the files; a running call ends as interrupted."""
        self.cell = 0
        self.checkpoints.clear()
        for kept in self.late.values():
            kept.clear()
        call = self.call
        if call and not (call.operation and not call.operation.needs_kernel):
            call.stopping = "interrupted"
            call.killed = True
            self._end_kernel(None, None)
            return
        self.stop()
        self.start()
        if call:
            call.operation.stop("interrupted")

    # ---- calls

    def submit(self, call):
        if self.call:
            if call.header.get("wait") is False:
                call.finish("busy")
                return
            self.queue.append(call)
        else:
            self._begin(call)

    def _begin(self, call):
        if self.kernel is None:
            self.start()
        self.kernel.drain()  # what leftovers wrote until now is not this call's
        self.call = call
        self.calls += 1
        call.begin()
        self.oom.since_last()  # what died between calls is not this call's doing
        self._deliver_late(call)
        if call.timeout_ms:
            call.timer = self.loop.after(
                call.timeout_ms, lambda: self.stop_call(call, "timeout")
            )
        if call.kind == "execute" and call.header.get("recover") == "last":
            call.operation = Taking(self, call, lambda *found: self._secured(call, *found))
        if call.operation:
            call.operation.begin()
        else:
            self._send(call)

    def _secured(self, call, pid, sock, _report, reason):
        """The copy that an execute with `recover` goes back to has been made, or could not be."""
        stopping = call.operation.stopping
        call.operation = None
        if sock:
            self.checkpoints.safety = Copy(0, pid, sock)
        else:
            call.fields["recover_refused"] = reason.decode("utf-8", "replace")
        self._send(call)
        if stopping:
            self.stop_call(call, stopping)

    def _send(self, call):
        header = {"type": call.kind, "id": call.id}
        if call.kind == "execute":
            self.cell += 1
            header["cell"] = self.cell
            for name in ("script", "args", "program"):
                if name in call.header:
                    header[name] = call.header[name]
        elif "cursor" in call.header:
            header["cursor"] = call.header["cursor"]
        if call.parts:
            header["parts"] = [[name, len(data)] for name, data in call.parts.items()]
        self.kernel.send(header, b"".join(call.parts.values()))

    def release(self, call):
        """An operation needs the kernel no longer."""
        if self.call is call:
            self._next()

    def adopt(self, kernel, cell):
        """Another kernel takes the place of this one, whose processes end."""
        self.checkpoints.clear()
        self.stop()
        self.take_over(kernel)
        self.cell = cell

    def take_over(self, kernel):
        kernel.owner = self
        self.kernel = kernel
        self.broken = None

    def _next(self):
        self.call = None
        self.checkpoints.drop_safety()
        if self.queue:
            self._begin(self.queue.popleft())

    def stop_call(self, call, reason):
        """SIGINT, and SIGKILL when the grace has run out."""
        if call is not self.call:
            if call in self.queue:
                self.queue.remove(call)
            if call.operation:
                call.operation.stop(reason)
            elif not call.finished:
                call.finish(reason, [("error", b"interrupted before it began")], state_preserved=True)
            return
        if call.stopping:
            return
        if call.operation:
            call.operation.stop(reason)
            return
        if self.kernel is None:
            return  # it has ended; what comes back is on its way
        call.stopping = reason
        self.loop.cancel(call.timer)
        call.timer = self.loop.after(call.grace_ms, lambda: self.kill_call(call))
        if call.kind == "execute":  # a question runs no user code, and takes no signal with it
            procs.interrupt(self.kernel.pid)

    def kill_call(self, call, reason=None):
        if call is self.call and not call.finished:
            call.stopping = reason or call.stopping
            call.killed = True
            self._end_kernel(None, None)

    def running(self):
        """The call that runs and those that wait for it."""
        return [self.call, *self.queue] if self.call else []

    def forget_client(self, client):
        """What runs goes on; what only waited is dropped, unless it was meant to go on alone."""
        for call in self.running():
            call.forget(client)
        self.queue = collections.deque(call for call in self.queue if call.client or call.detached)

    # ---- what the kernel says

    def on_output(self, stream, data):
        call = self.call
        if call:
            call.send_output(stream, data)
            if call.client and call.client.full:
                self.kernel.pause()
            return
        kept = self.late[stream]
        room = LATE_KEPT - len(kept)
        kept += data[:room]
        self.late_dropped[stream] += max(len(data) - room, 0)

    def resume_output(self):
        if self.kernel:
            self.kernel.resume()

    def _deliver_late(self, call):
        for stream, kept in self.late.items():
            if kept:
                call.send_output(stream + 2, bytes(kept), self.late_dropped[stream])
            kept.clear()
            self.late_dropped[stream] = 0

    def on_frame(self, header, content):
        call = self.call
        kind = header["type"]
        if kind == "drained" and self.draining:
            (done, done_content), self.draining = self.draining, None
            if header.get("consumed") is True:
                call.stopping = None  # the code had ended before the signal came
            self._finish_done(done, done_content)
        elif call is None or header.get("id") != call.id:
            raise frames.FrameError("%.40r for a call that does not run" % kind)
        elif call.operation:
            call.operation.on_kernel_frame(header, content)
        elif kind == "done" and call.kind == "execute":
            self.kernel.drain()
            if call.stopping:
                self.draining = header, content
                self.kernel.send({"type": "drain"})
            else:
                self._finish_done(header, content)
        elif kind == "display" and call.kind == "execute":
            self._take_display(call, header, content)
        elif kind == "reply" and call.kind != "execute":
            self._finish_reply(call, header, content)
        else:
            raise frames.FrameError("unexpected %.40r" % kind)

    def _take_display(self, call, header, content):
        parts = header.get("parts")
        if not parts or len(content) > DISPLAY_MAX or not all(MIME.fullmatch(name) for name, _ in parts):
            raise frames.FrameError("a display that makes no sense")
        self.kernel.drain()  # keep the order of text and pictures as well as pipes can
        call.send_display({"type": "display", "parts": parts}, content)
        if call.client and call.client.full:
            self.kernel.pause()

    def _finish_reply(self, call, header, content):
        self.loop.cancel(call.timer)
        texts = frames.split_parts(header, content).items() if content else ()
        call.finish("ok" if header.get("status", "ok") == "ok" else "error", texts, state_preserved=True)
        self._next()

    def _finish_done(self, header, content):
        call = self.call
        self.loop.cancel(call.timer)
        status = header.get("status")
        kind = header.get("output_kind", "none")
        code = header.get("exit_code")
        if type(status) is not str or status not in KERNEL_STATUS or type(kind) is not str or kind not in OUTPUT_KINDS:
            raise frames.FrameError("a done that makes no sense")
        if type(code) is not int or not -(1 << 31) <= code < 1 << 32:
            code = None
        texts = frames.split_parts(header, content)
        error = texts.get("error", b"")
        if call.stopping:
            status, code = call.stopping, None
            error = self._stop_message(call, "was interrupted; variables are kept") + b"\n" + error
            procs.kill_user(self.uid, [self.kernel.pid], self.keep_sessions())
            self.reap()
        call.finish(
            status,
            [("output", texts.get("output", b"")), ("error", error)],
            exit_code=code,
            signal=0,
            state_preserved=True,
            output_kind=kind,
            usage=self._usage(header),
        )
        self._next()

    def _usage(self, header, rusage=None):
        usage = {"oom_kills": self.oom.since_last()}
        if rusage:
            usage["cpu_ns"] = int((rusage.ru_utime + rusage.ru_stime) * 1e9)
            usage["peak_bytes"] = rusage.ru_maxrss * 1024
        for name in ("cpu_ns", "peak_bytes"):
            value = header.get(name)
            if type(value) is int and 0 <= value < 1 << 53:
                usage[name] = value
        return usage

    @staticmethod
    def _stop_message(call, outcome):
        if call.stopping == "timeout":
            text = "TimeoutError: the code ran longer than its limit of %s and %s" % (
                seconds(call.timeout_ms),
                outcome,
            )
        else:
            text = "KeyboardInterrupt: the code %s" % outcome
        return text.encode()

    # ---- the kernel's end

    def on_broken(self, reason):
        """Its control socket is of no use any more: it is dying, or the code has broken it."""
        self.broken = reason
        if self.broken_timer is None:
            self.broken_timer = self.loop.after(
                SILENT_DEATH_MS if "closed" in reason else 0, self._end_broken
            )

    def _end_broken(self):
        self.broken_timer = None
        if self.kernel and self.broken:
            self._end_kernel(None, None)

    def on_child_ended(self, pid, status, rusage):
        if self.checkpoints.on_child_ended(pid, status) or not self.kernel or pid != self.kernel.pid:
            return
        self.kernel.read_last_words()  # a `done` may still be there: then the call has ended well
        if self.kernel and self.kernel.pid == pid:
            self._end_kernel(status, rusage)

    def _end_kernel(self, status, rusage):
        """The kernel is dead (status) or has to die (None): say why, and have a fresh one ready."""
        call = self.call
        if status is None and self.kernel:
            self.kernel.drain()
        self.draining = None
        self.stop()
        if call and call.operation and not call.operation.needs_kernel:
            self.start()
            return
        verdict, code, number, text = self._verdict(call, status)
        ended = {"exit_code": code, "signal": number, "usage": self._usage({}, rusage)}
        if call and not call.operation and self.checkpoints.safety:
            self._go_back(call, verdict, text, ended)
            return
        self.start()
        if call is None:
            self.late[2] += b"sandcell: between calls, %s\n" % text
        elif call.operation:
            call.operation.on_kernel_ended(text)
            self._next()
        else:
            self._finish_ended(call, verdict, text, ended, False)

    def _finish_ended(self, call, verdict, text, ended, preserved):
        self.loop.cancel(call.timer)
        call.finish(verdict, [("error", text)], state_preserved=preserved, output_kind="none", **ended)
        self._next()

    def _go_back(self, call, verdict, text, ended):
        """To what was before the call; where that fails, to a fresh kernel."""
        self.loop.cancel(call.timer)

        def revived(why):
            if why is None:
                ended["rolled_back"] = True
                self._finish_ended(call, verdict, text.replace(LOST, KEPT), ended, True)
            else:
                self.start()
                self._finish_ended(call, verdict, text, ended, False)

        self.checkpoints.revive(self.checkpoints.safety, revived)

    def _verdict(self, call, status):
        """(status, exit code, signal, text) of a kernel's end."""
        if call and call.killed:
            outcome = "did not stop within %s of SIGINT; it was killed and variables are lost"
            return call.stopping, None, signal.SIGKILL, self._stop_message(call, outcome % seconds(call.grace_ms))
        if status is None:
            text = "the code %s; it was ended and variables are lost" % self.broken
            return "error", None, 0, text.encode()
        if os.WIFEXITED(status):
            code = os.WEXITSTATUS(status)
            text = "the code ended the Python process with exit status %d; variables are lost" % code
            return "exited", code, 0, text.encode()
        number = os.WTERMSIG(status)
        if number == signal.SIGKILL and self.oom.peek():
            text = "out of memory: the Python process was killed at the container's memory limit; variables are lost"
            return "oom", 128 + number, number, text.encode()
        name = signal_name(number)
        text = "the Python process was killed by signal %d (%s); variables are lost" % (number, name)
        return "signaled", 128 + number, number, text.encode()


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
