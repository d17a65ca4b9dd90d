"""A container with a supervisor in it, driven frame by frame."""

import importlib.util
import pathlib
import struct
import time
import uuid

import engine_api

RUNNER = pathlib.Path(__file__).resolve().parents[2] / "src" / "runner"
IMAGE = "sandcell/python"
RUN_ID = uuid.uuid4().hex


def _load_frames():
    spec = importlib.util.spec_from_file_location("sandcell_frames", RUNNER / "frames.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


frames = _load_frames()


def module_sources():
    return {
        path.stem: path.read_bytes()
        for path in RUNNER.glob("*.py")
        if path.stem != "boot" and not path.stem.startswith("stage0")
    }


class Outcome:
    """Everything that came for one call."""

    def __init__(self):
        self.out = {1: b"", 2: b"", 3: b"", 4: b""}
        self.displays = []
        self.header = None
        self.parts = {}

    @property
    def status(self):
        return self.header["status"]

    @property
    def output(self):
        return self.parts.get("output", b"").decode()

    @property
    def error(self):
        return self.parts.get("error", b"").decode()

    def __repr__(self):
        return "Outcome(%r, %r, %r)" % (self.header, self.parts, {k: v[:200] for k, v in self.out.items()})


class Client:
    """One connection to the supervisor of a cell."""

    next_id = 1 << 32

    def __init__(self, cell):
        argv = ["python3", "-I", "-S", "-c", (RUNNER / "stage0_connect.py").read_text()]
        self.stream = engine_api.ExecStream(cell.id, argv, "65530:65530")
        self.reader = frames.Reader()
        self.assembler = frames.Assembler()
        self.name = uuid.uuid4().hex[:16]

    def write(self, data):
        self.stream.write(data)

    def hello(self, **fields):
        self.write(frames.pack({"type": "hello", "protocol": 1, "client": self.name, **fields}))
        return self.read()[0]

    def read(self):
        """(header, content) of the next whole frame."""
        while True:
            frame = self.reader.next()
            if frame is None:
                self.reader.feed(self.stream.read())
                continue
            whole = self.assembler.add(*frame)
            if whole:
                return whole

    def send(self, kind, content=b"", **fields):
        Client.next_id += 1
        header = {"type": kind, "id": Client.next_id, **fields}
        self.write(frames.pack_call(header, content))
        return Client.next_id

    def wait(self, number):
        outcome = Outcome()
        while True:
            header, content = self.read()
            if header["type"] == "error":
                raise AssertionError(header)
            if header.get("id") != number:
                continue
            if header["type"] == "output":
                outcome.out[header["stream"]] += content
            elif header["type"] == "display":
                outcome.displays.append(frames.split_parts(header, content))
            elif header["type"] == "result":
                outcome.header = header
                outcome.parts = frames.split_parts(header, content) if content else {}
                return outcome

    def call(self, kind, content=b"", **fields):
        return self.wait(self.send(kind, content, **fields))

    def start(self, code, **fields):
        data = code.encode()
        return self.send("execute", data, parts=[["code", len(data)]], **fields)

    def run(self, code, **fields):
        return self.wait(self.start(code, **fields))

    def close(self):
        self.stream.close()


class Cell:
    """The lockdown of DESIGN section 6 in short; `uid` runs the code."""

    def __init__(self, uid=1000, memory=256 << 20, pids=256, lease_ms=2000, **setup):
        host = {
            "NetworkMode": "none",
            "AutoRemove": True,
            "Memory": memory,
            "MemorySwap": memory,
            "PidsLimit": pids,
            "CapDrop": ["ALL"],
            "CapAdd": ["SETUID", "SETGID", "KILL", "SETPCAP"],
            "SecurityOpt": ["no-new-privileges"],
            "ReadonlyRootfs": True,
            "ShmSize": 16 << 20,
            "Tmpfs": {
                path: "rw,exec,nosuid,nodev,size=32m,mode=1777" for path in ("/tmp", "/run", "/var/tmp", "/workspace")
            },
            "Ulimits": [
                {"Name": "nofile", "Soft": 1024, "Hard": 1024},
                {"Name": "nproc", "Soft": 30000, "Hard": 30000},
                {"Name": "core", "Soft": 0, "Hard": 0},
            ],
        }
        body = {
            "Image": IMAGE,
            "Entrypoint": [],
            "Cmd": ["python3", "-I", "-S", "-c", (RUNNER / "stage0_init.py").read_text()],
            "User": "0:0",
            "OpenStdin": True,
            "StdinOnce": True,
            "Labels": {"io.sandcell.test": RUN_ID},
            "HostConfig": host,
        }
        self.id = engine_api.must("POST", "/containers/create", body)["Id"]
        try:
            console = engine_api.Attached(self.id)
            engine_api.must("POST", "/containers/%s/start" % self.id)
            console.write(self._boot(uid, lease_ms, setup))
            self.client = Client(self)
            self.greeting = self.client.hello()
            self.ready = self.client.call("ready")
            console.close()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _boot(uid, lease_ms, more):
        boot = (RUNNER / "boot.py").read_bytes()
        sources = module_sources()
        setup = {
            "type": "setup",
            "id": 1,
            "uid": uid,
            "gid": uid,
            "env": {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "USER": "user", "LANG": "C.UTF-8"},
            "cwd": "/workspace",
            "preload": [],
            "lease_ms": lease_ms,
            "writable": ["/workspace", "/tmp", "/run", "/var/tmp", "/dev"],
            "limits": {},
            "parts": [["module:" + name, len(text)] for name, text in sources.items()],
            **more,
        }
        return struct.pack(">I", len(boot)) + boot + frames.pack_call(setup, b"".join(sources.values()))

    def attach(self, **fields):
        client = Client(self)
        assert client.hello(**fields)["type"] == "hello"
        return client

    def run(self, code, **fields):
        return self.client.run(code, **fields)

    def wait_gone(self, seconds=60):
        deadline = time.monotonic() + seconds
        while engine_api.exists(self.id):
            assert time.monotonic() < deadline, "container %s is still there" % self.id[:12]
            time.sleep(0.05)

    def close(self):
        engine_api.request("DELETE", "/containers/%s?force=1&v=1" % self.id)
