"""Command pipelines (the `cli` call): each in a process session of its own, beside the kernel."""


from _sandcell import frames, procs
from _sandcell.kernel_link import KernelLink


class Command:
    """One running pipeline.  The leader is linked like a kernel: control socket and two pipes."""

    def __init__(self, loop, setup, zygote, call, on_finished):
        self.loop = loop
        self.uid = setup["uid"]
        self.call = call
        self.on_finished = on_finished
        self.link = KernelLink(loop, self)
        self.done = None
        try:
            self.link.fork(zygote, {"kind": "cli", "id": call.id})
        except BaseException:
            self.link.close()
            raise
        self.pid = self.link.pid
        call.begin()
        self.link.send(
            {"type": "cli", "id": call.id, "parts": [["form", len(call.parts["form"])]]}, call.parts["form"]
        )
        if call.timeout_ms:
            call.timer = loop.after(call.timeout_ms, lambda: self.stop("timeout"))

    def stop(self, reason):
        """A pipeline has no state worth a grace: it is killed at once."""
        if not self.call.finished:
            self.call.stopping = reason
            procs.kill_session(self.uid, self.pid)
            self._finish()

    # ---- what the link reports

    def on_output(self, stream, data):
        self.call.send_output(stream, data)
        if self.call.client and self.call.client.full:
            self.link.pause()

    def on_frame(self, header, content):
        if header["type"] != "done" or self.done:
            raise frames.FrameError("unexpected %.40r" % header["type"])
        self.done = header, frames.split_parts(header, content)
        self.link.drain()
        procs.kill_session(self.uid, self.pid)
        self._finish()

    def on_broken(self, reason):
        pass  # its end follows

    def on_child_ended(self, status):
        self.link.read_last_words()
        if not self.call.finished:
            procs.kill_session(self.uid, self.pid)
            self._finish(status)

    def _finish(self, status=None):
        call = self.call
        self.loop.cancel(call.timer)
        self.link.close()
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
