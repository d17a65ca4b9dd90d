"""put and get: one process of uid X and one stream each, beside the kernel (files.py does the work)."""

import os

from _sandcell import flow, frames, procs
from _sandcell.calls import BadField, number_field
from _sandcell.kernel_link import KernelLink

FAREWELL_MS = 5000  # for a put that is stopped to take its half away
WORDS_KEPT = 4096


def _text_field(header, name):
    value = header.get(name)
    if type(value) is not str or not value:
        raise BadField("%s is not a text" % name)
    return value


class Transfer:
    """A put or a get."""

    def __init__(self, loop, setup, zygote, call, on_finished):
        self.loop = loop
        self.uid = setup["uid"]
        self.call = call
        self.on_finished = on_finished
        self.done = None
        self.unpacked = None  # put: everything is there, beside its place
        self.words = b""  # what its process said on stderr
        self.finished = False
        request = self._request(setup["cwd"])
        self.link = KernelLink(loop, self)
        try:
            self.stream = self._start(zygote, request)
        except BaseException:
            self.link.close()
            raise
        self.pid = self.link.pid
        call.begin()
        if call.timeout_ms:
            call.timer = loop.after(call.timeout_ms, lambda: self.stop("timeout"))

    def _start(self, zygote, request):
        if self.call.kind == "get":
            self.link.fork(zygote, request)
            return flow.Download(self.loop, self.call, self.link.take_pipe(1), self._finish_get)
        reading, writing = flow.make_pipe()
        try:
            self.link.fork(zygote, request, reading)
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        return flow.Upload(self.loop, self.call, writing, self._sent)

    def _request(self, cwd):
        header = self.call.header
        request = {"kind": "files", "op": self.call.kind, "cwd": cwd, "path": _text_field(header, "path")}
        if self.call.kind == "put":
            for name in ("parents", "replace"):
                request[name] = header.get(name) is True
            return request
        for name in ("max_files", "max_bytes"):
            request[name] = number_field(header, name, 0, 1 << 62)
        request["skip"] = header.get("skip", [])
        if type(request["skip"]) is not list or not all(type(name) is str for name in request["skip"]):
            raise BadField("skip is not a list of names")
        return request

    # ---- what comes

    def on_output(self, _stream, data):
        self.words = (self.words + data)[-WORDS_KEPT:]

    def on_broken(self, reason):
        pass  # its end follows

    def on_frame(self, header, content):
        kind = header["type"]
        if kind == "unpacked" and self.call.kind == "put" and not self.unpacked:
            self.unpacked = header
            self._commit()
        elif kind == "done" and not self.done:
            self.done = header, frames.split_parts(header, content)
            if self.call.kind == "put" or header.get("status") != "ok":
                self._finish()
            else:
                self._finish_get()
        else:
            raise frames.FrameError("unexpected %.40r" % kind)

    def _sent(self, header):
        """All that the client sent has gone through."""
        if header.get("abort") is True:
            self.stop("interrupted")
        else:
            self._commit()

    def _commit(self):
        last = self.stream.last
        if not self.unpacked or not last or self.finished:
            return
        same = all(self.unpacked.get(name) == last.get(name) for name in ("bytes", "sha256"))
        self.link.send({"type": "commit" if same else "stop"})

    def _finish_get(self):
        """When the process has said what it sent, and all of that has been passed on."""
        if self.done and self.stream.fd < 0:
            if self.done[0].get("bytes") != self.stream.bytes:
                self.done = {"status": "error"}, {"error": b"the stream was cut inside the container"}
            self._finish()

    def on_child_ended(self, status):
        self.link.read_last_words()
        if self.call.finished or self.done:
            return
        text = b"the process that moves the files ended early (wait status %d) %s" % (status, self.words)
        self.done = {"status": "error"}, {"error": text}
        self._finish()

    # ---- the end

    def stop(self, reason):
        """A put takes away what it has unpacked before it goes; a get just goes."""
        if self.call.finished or self.call.stopping:
            return
        self.call.stopping = reason
        self.loop.cancel(self.call.timer)
        if self.call.kind == "get":
            self._finish()
            return
        self.stream.close()
        self.link.send({"type": "stop"})
        self.call.timer = self.loop.after(FAREWELL_MS, self._finish)

    def _finish(self):
        if self.finished:
            return
        self.finished = True
        call = self.call
        self.loop.cancel(call.timer)
        self.stream.close()
        self.link.close()
        procs.kill_session(self.uid, self.pid)
        header, texts = self.done or ({"status": "error"}, {})
        if call.stopping:
            text = "timed out" if call.stopping == "timeout" else "interrupted"
            call.finish(call.stopping, [("error", text.encode())], state_preserved=True)
        else:
            ok = header.get("status") == "ok"
            fields = {name: header[name] for name in ("files", "bytes") if type(header.get(name)) is int}
            if type(header.get("sha256")) is str:
                fields["sha256"] = header["sha256"][:64]
            names = ("skipped",) if ok else ("error",)
            call.finish(
                "ok" if ok else "error",
                [(name, texts[name]) for name in names if name in texts],
                state_preserved=True,
                **fields,
            )
        self.on_finished(self)
