"""Just enough of the engine's API, spoken by hand, to put a supervisor into a container."""

import http.client
import json
import os
import socket
import struct
import time
import urllib.parse

HOST = os.environ.get("SANDCELL_TEST_HOST", "unix:///var/run/docker.sock")
API = "/v1.41"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("engine", timeout=60)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(urllib.parse.urlparse(HOST).path)


def request(method, path, body=None):
    """(status, parsed JSON or text)."""
    connection = UnixConnection()
    headers = {"Content-Type": "application/json"}
    connection.request(method, API + path, None if body is None else json.dumps(body), headers)
    reply = connection.getresponse()
    text = reply.read()
    connection.close()
    try:
        return reply.status, json.loads(text)
    except ValueError:
        return reply.status, text.decode(errors="replace")


def must(method, path, body=None):
    status, reply = request(method, path, body)
    assert status < 300, (method, path, status, reply)
    return reply


def exists(container):
    return request("GET", "/containers/%s/json" % container)[0] == 200


def exit_code(container, since):
    """Of a container that is gone, as the engine's events have it."""
    filters = urllib.parse.quote(json.dumps({"container": [container]}))
    events = must("GET", "/events?since=%.9f&until=%.9f&filters=%s" % (since, time.time(), filters))
    lines = events.splitlines() if isinstance(events, str) else [json.dumps(events)]
    found = [json.loads(line)["Actor"]["Attributes"] for line in lines if '"die' in line]
    return int(found[0].get("exitCode") or found[0]["containerExitCode"])


class Stream:
    """A hijacked stream: write() to stdin, read() stdout."""

    def __init__(self, path, body=b""):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(urllib.parse.urlparse(HOST).path)
        self.sock.sendall(
            b"POST %s%s HTTP/1.1\r\nHost: engine\r\nContent-Type: application/json\r\n"
            b"Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: %d\r\n\r\n%s"
            % (API.encode(), path.encode(), len(body), body)
        )
        self.buffer = b""
        self.stderr = b""
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        assert head.split(b" ", 2)[1] in (b"101", b"200"), head

    def _more(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError("the stream has ended; stderr: %r" % self.stderr)
        self.buffer += data

    def write(self, data):
        self.sock.sendall(data)

    def read(self):
        """The next piece of stdout."""
        while True:
            while len(self.buffer) < 8:
                self._more()
            stream, size = struct.unpack(">BxxxI", self.buffer[:8])
            while len(self.buffer) < 8 + size:
                self._more()
            data, self.buffer = self.buffer[8 : 8 + size], self.buffer[8 + size :]
            if stream == 1:
                return data
            self.stderr += data

    def close(self):
        self.sock.close()


class ExecStream(Stream):
    def __init__(self, container, argv, user):
        body = {"AttachStdin": True, "AttachStdout": True, "AttachStderr": True, "Cmd": argv, "User": user}
        exec_id = must("POST", "/containers/%s/exec" % container, body)["Id"]
        super().__init__("/exec/%s/start" % exec_id, b'{"Detach":false,"Tty":false}')


class Attached(Stream):
    """stdin and stderr of the main process; works before it starts."""

    def __init__(self, container):
        super().__init__("/containers/%s/attach?stream=1&stdin=1&stderr=1" % container)
