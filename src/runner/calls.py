"""One call: who asked, its deadline, and the result that it will get exactly once."""

from _sandcell.loop import now
from _sandcell.records import Record

GRACE_MS = 500
MAX_MS = 1 << 52
RESULT_PART = 1 << 20
WHOLE = {"report"}  # JSON, bounded where it is made


class BadField(Exception):
    """A call's header names a value that cannot be."""


def number_field(header, name, default, maximum=MAX_MS):
    value = header.get(name, default)
    if type(value) is not int or not 0 <= value <= maximum:
        raise BadField("%s is %.60r, not an integer from 0 to %d" % (name, value, maximum))
    return value


class Call:
    """A call that takes time: execute, cli, or a question to the kernel."""

    def __init__(self, kind, client, header, parts, on_finished):
        self.kind = kind
        self.id = header["id"]
        self.client = client  # None once it is gone
        self.header = header
        self.parts = parts
        self.on_finished = on_finished
        self.timeout_ms = number_field(header, "timeout_ms", 0)
        self.grace_ms = number_field(header, "grace_ms", GRACE_MS)
        self.detached = header.get("detach") is True
        if self.detached and not self.timeout_ms:
            raise BadField("a detached call needs a timeout_ms")
        self.record = Record()
        self.reply_id = self.id  # that of the call by which a client has taken it over
        self.waiters = []  # (client, id) that want the result, too
        self.on_begun = None
        self.started = 0
        self.timer = None
        self.stopping = None  # "timeout" or "interrupted", once a SIGINT was sent
        self.killed = False
        self.finished = False
        self.before_result = None  # function(send) that holds the result back for a moment
        self.fields = {}  # of the result, whatever it will be
        self.operation = None  # of a call that is more than a question to the kernel (snapshots.py)

    def begin(self):
        self.started = now()
        if self.on_begun:
            self.on_begun(self)

    def send_display(self, header, content):
        header["id"] = self.reply_id
        self.record.add_display(header, content)
        if self.client:
            self.client.send_call(header, content)

    def send_output(self, stream, data, dropped=0):
        self.record.add_output(stream, data, dropped)
        if self.client:
            header = {"type": "output", "id": self.reply_id, "stream": stream}
            if dropped:
                header["dropped"] = dropped
            self.client.send(header, data)

    def finish(self, status, texts=(), **fields):
        """Sends the result.  texts: (name, bytes) pairs, cut to what a part may hold."""
        self.finished = True
        header = {
            "type": "result",
            "id": self.id,
            "status": status,
            "duration_ns": now() - self.started if self.started else 0,
        }
        header.update(fields, **self.fields)
        if self.before_result:
            self.before_result(lambda more: self._send_result(header, [*texts, *more]))
        else:
            self._send_result(header, texts)

    def _send_result(self, header, texts):
        parts = [(name, text if name in WHOLE else cut(text)) for name, text in texts if text]
        if parts:
            header["parts"] = [[name, len(text)] for name, text in parts]
        content = b"".join(text for _, text in parts)
        self.record.result = header, content
        if self.client and self.reply_id != self.id:
            self.client.send_call(dict(header, id=self.reply_id, target=self.id), content)
        elif self.client:
            self.client.send_call(header, content)
        for client, number in self.waiters:
            self.record.replay(client, number)
        self.on_finished(self)

    def release(self):
        """Answers a detached call at once: it goes on alone, until somebody asks for its result."""
        header = {"type": "result", "id": self.id, "status": "ok", "detached": True}
        self.client.send(header)
        self.client = None

    def take_over(self, client, number):
        """Gives a client what there is, and all that follows, as the answer to its call `number`."""
        if self.client:
            self.waiters.append((client, number))  # somebody else listens: all of it at the end
            return
        self.record.replay_output(client, number)
        self.client, self.reply_id = client, number

    def stop_waiting(self, number):
        """True when it was call `number` that waited for this one; now it has its answer."""
        if self.reply_id == number != self.id:
            client, self.client, self.reply_id = self.client, None, self.id
        else:
            client = next((client for client, waiting in self.waiters if waiting == number), None)
            self.waiters = [waiter for waiter in self.waiters if waiter[1] != number]
        if client:
            header = {"type": "result", "id": number, "target": self.id, "status": "interrupted"}
            client.send(header)
        return client is not None

    def forget(self, client):
        """A client is gone: the call goes on, nobody is told."""
        if self.client is client:
            self.client, self.reply_id = None, self.id
        self.waiters = [waiter for waiter in self.waiters if waiter[0] is not client]


def cut(text):
    if len(text) <= RESULT_PART:
        return text
    return text[: RESULT_PART // 2] + b"\n[cut]\n" + text[-RESULT_PART // 2 + 16 :]


def seconds(milliseconds):
    text = "%.3f" % (milliseconds / 1000)
    return text.rstrip("0").rstrip(".") + " s"
