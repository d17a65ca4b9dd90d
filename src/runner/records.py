"""What calls left behind, kept for a client whose stream was lost: bounded, oldest out first."""

import collections

from _sandcell import frames

STREAM_KEPT = 1 << 20  # bytes a stream, half from its head and half from its tail
DISPLAYS_KEPT = 8 << 20  # bytes of displays a call
CALLS_KEPT = 64
TOTAL_KEPT = 16 << 20


class Tape:
    """Head and tail of one stream, and how much was between them."""

    def __init__(self, limit=STREAM_KEPT):
        self.half = limit // 2
        self.head = bytearray()
        self.tail = collections.deque()
        self.tail_size = 0
        self.dropped = 0

    def add(self, data):
        room = self.half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        if not data:
            return
        self.tail.append(data)
        self.tail_size += len(data)
        while self.tail_size - len(self.tail[0]) >= self.half:
            gone = len(self.tail.popleft())
            self.tail_size -= gone
            self.dropped += gone

    @property
    def size(self):
        return len(self.head) + self.tail_size


class Record:
    def __init__(self):
        self.tapes = {}
        self.displays = []
        self.displays_size = 0
        self.displays_full = False
        self.result = None  # (header, content), once it has ended

    def add_output(self, stream, data, dropped=0):
        tape = self.tapes.get(stream)
        if tape is None:
            tape = self.tapes[stream] = Tape()
        tape.dropped += dropped
        tape.add(data)

    def add_display(self, header, content):
        """The first ones are kept: a client that has seen some of them has to know which."""
        self.displays_full |= self.displays_size + len(content) > DISPLAYS_KEPT
        if not self.displays_full:
            self.displays.append((header, content))
            self.displays_size += len(content)

    @property
    def size(self):
        return sum(tape.size for tape in self.tapes.values()) + self.displays_size

    def replay(self, client, number):
        """Sends it all again, as the answer to call `number`."""
        self.replay_output(client, number)
        header, content = self.result
        client.send_call(dict(header, id=number, target=header["id"]), content)

    def replay_output(self, client, number):
        for stream, tape in sorted(self.tapes.items()):
            self._replay_tape(client, number, stream, tape)
        for header, content in self.displays:
            client.send_call(dict(header, id=number), content)

    @staticmethod
    def _replay_tape(client, number, stream, tape):
        """The count of what is missing comes where it is missing: then every byte has its place."""
        header = {"type": "output", "id": number, "stream": stream}

        def send(data):
            for at in range(0, len(data), frames.MAX_PAYLOAD):
                client.send(header, data[at : at + frames.MAX_PAYLOAD])

        send(bytes(tape.head))
        if tape.dropped:
            client.send(dict(header, dropped=tape.dropped))
        for data in tape.tail:
            send(data)


class Records:
    def __init__(self):
        self._ended = collections.OrderedDict()
        self._size = 0

    def keep(self, number, record):
        self._ended[number] = record
        self._size += record.size
        while len(self._ended) > CALLS_KEPT or (self._size > TOTAL_KEPT and len(self._ended) > 1):
            self._size -= self._ended.popitem(last=False)[1].size

    def get(self, number):
        return self._ended.get(number)

    def clear(self):
        self._ended.clear()
        self._size = 0
