"""Command lines (the `cli` call), beside the kernel.

A leader runs them, one after another: forking one for each would take longer than most commands.  It and
what it starts are a process session of their own.
"""

import os

from _sandcell import frames, procs
from _sandcell.kernel_link import KernelLink

# From the end of a stopped pipeline's programs to the leader's `done`; it empties its TMPDIR meanwhile.
LEADER_MS = 500


class Leader:
    """Linked like a kernel: control socket and two pipes."""

    def __init__(self, loop, uid, zygote):
        self.uid = uid
        self.command = None
        self.reusable = True
        self.link = KernelLink(loop, self)
        try:
            self.link.fork(zygote, {"kind": "cli"})
        except BaseException:
            self.link.close()
            raise
        self.pid = self.link.pid

    def alive(self):
        """Not even a corpse that waits to be reaped."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:
            return False

    def kill(self):
        """With everything that it started."""
        self.reusable = False
        procs.kill_session(self.uid, self.pid)

    # ---- what the link reports

    def on_output(self, stream, data):
        if self.command:
            self.command.on_output(stream, data)

    def on_frame(self, header, content):
        if header["type"] != "done" or not self.command:
            raise frames.FrameError("unexpected %.40r" % header["type"])
        self.reusable = header.get("reusable") is True
        self.link.drain()
        self.command.on_done(header, frames.split_parts(header, content))

    def on_broken(self, reason):
        self.kill()  # its end is reported next


class Leaders:
    """Those that are idle; at most one is kept."""

    def __init__(self, loop, uid, zygote):
        self.loop = loop
        self.uid = uid
        self.zygote = zygote
        self.idle = None

    def take(self):
        """An idle one or a new one; raises ZygoteError."""
        leader, self.idle = self.idle, None
        if leader and leader.alive():
            return leader
        if leader:
            leader.link.close()
        return Leader(self.loop, self.uid, self.zygote)

    def give_back(self, leader):
        leader.command = None
        if leader.reusable and not self.idle:
            leader.link.resume()
            self.idle = leader
        else:
            leader.kill()
            leader.link.close()

    def on_child_ended(self, pid):
        """True for the idle one: user code shares its uid, and may kill it at any time."""
        if not self.idle or self.idle.pid != pid:
            return False
        self.idle.link.close()
        self.idle = None
        return True


class Command:
    """One running command line."""

    def __init__(self, loop, leaders, call, on_finished):
        self.loop = loop
        self.leaders = leaders
        self.call = call
        self.on_finished = on_finished
        self.done = None
        self.leader = leaders.take()
        self.leader.command = self
        self.link = self.leader.link
        self.pid = self.leader.pid
        call.begin()
        form = call.parts["form"]
        self.link.send({"type": "cli", "id": call.id, "parts": [["form", len(form)]]}, form)
        if call.timeout_ms:
            call.timer = loop.after(call.timeout_ms, lambda: self.stop("timeout"))

    def stop(self, reason):
        """A pipeline has no state worth a grace: its programs are killed at once."""
        if self.call.finished or self.call.stopping:
            return
        self.call.stopping = reason
        procs.kill_session(self.leader.uid, self.pid, spare=self.pid)
        self.loop.cancel(self.call.timer)
        self.call.timer = self.loop.after(LEADER_MS, self._give_up)

    def _give_up(self):
        self.leader.kill()
        self._finish()

    # ---- what the leader reports

    def on_output(self, stream, data):
        self.call.send_output(stream, data)
        if self.call.client and self.call.client.full:
            self.link.pause()

    def on_done(self, header, texts):
        self.done = header, texts
        if not self.call.finished:
            self._finish()

    def on_child_ended(self, status):
        self.link.read_last_words()
        self.leader.kill()
        if not self.call.finished:
            self._finish(status)

    def _finish(self, status=None):
        call = self.call
        self.loop.cancel(call.timer)
        self.leaders.give_back(self.leader)
        if call.stopping:
            call.finish(call.stopping, [("error", self._stop_text())], state_preserved=True)
        elif self.done:
            self._finish_done(*self.done)
        else:
            text = "the command runner ended early (wait status %s)" % status
            call.finish("error", [("error", text.encode())], state_preserved=True)
        self.on_finished(self)

    def _stop_text(self):
        if self.call.stopping == "timeout":
            return b"TimeoutError: the command ran longer than its limit and was killed"
        return b"the command was interrupted"

    def _finish_done(self, header, texts):
        code = header.get("exit_code")
        stages = header.get("stages")
        plain = type(stages) is list and all(type(stage) is int for stage in stages)
        self.call.finish(
            "ok" if code == 0 else "error",
            [("error", texts.get("error", b""))],
            exit_code=code if type(code) is int else None,
            stages=stages[:1000] if plain else [],
            landlock=header.get("landlock") is True,
            signal=0,
            state_preserved=True,
        )
