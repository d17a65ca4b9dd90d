"""The client's side of put, get, snapshot and restore streams."""

import hashlib
import io
import tarfile

from cell import Outcome, frames

WINDOW = 512 << 10


class Upload:
    """Sends a stream; never more than the window on its way."""

    def __init__(self, client, kind, **fields):
        self.client = client
        self.number = client.send(kind, **fields)
        self.room = WINDOW
        self.hash = hashlib.sha256()
        self.bytes = 0
        self.outcome = None

    def send(self, data):
        view = memoryview(data)
        while view and self.outcome is None:
            while self.room == 0 and self.outcome is None:
                self.read()
            piece = bytes(view[: min(65536, self.room)])
            self.client.write(frames.pack({"type": "chunk", "id": self.number}, piece))
            self.room -= len(piece)
            self.bytes += len(piece)
            self.hash.update(piece)
            view = view[len(piece) :]

    def read(self):
        header, content = self.client.read()
        assert header["type"] != "error", header
        if header.get("id") != self.number:
            return
        if header["type"] == "credit":
            self.room += header["bytes"]
            assert self.room <= WINDOW
        elif header["type"] == "result":
            self.outcome = Outcome()
            self.outcome.header = header
            self.outcome.parts = frames.split_parts(header, content) if content else {}

    def end(self, **fields):
        last = {"bytes": self.bytes, "sha256": self.hash.hexdigest(), **fields}
        self.client.write(frames.pack({"type": "end", "id": self.number, **last}))
        return self.wait()

    def wait(self):
        while self.outcome is None:
            self.read()
        return self.outcome


def download(client, kind, on_chunk=None, **fields):
    """(bytes, outcome) of a get or a snapshot; gives credit as it goes."""
    number = client.send(kind, **fields)
    data = bytearray()
    while True:
        header, content = client.read()
        assert header["type"] != "error", header
        if header.get("id") != number:
            continue
        if header["type"] == "chunk":
            data += content
            if on_chunk:
                on_chunk(content)
            client.write(frames.pack({"type": "credit", "id": number, "bytes": len(content)}))
        elif header["type"] == "result":
            outcome = Outcome()
            outcome.header = header
            outcome.parts = frames.split_parts(header, content) if content else {}
            if outcome.status == "ok":
                assert header["bytes"] == len(data)
                assert header["sha256"] == hashlib.sha256(data).hexdigest()
            return bytes(data), outcome


def tar_of(members):
    """A tar of {name: bytes, None for a directory, or a function that makes a TarInfo}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.mtime = 1700000000
            if content is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(info)
            elif callable(content):
                tar.addfile(content(info))
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def put(client, path, members, **fields):
    upload = Upload(client, "put", path=path, **fields)
    upload.send(tar_of(members))
    return upload.end()


class Member(tarfile.TarInfo):
    """With room for the content."""

    data = None


def get(client, path, **fields):
    """({name: Member}, outcome)"""
    data, outcome = download(client, "get", path=path, **fields)
    if outcome.status != "ok":
        return None, outcome
    members = {}
    with tarfile.open(fileobj=io.BytesIO(data), tarinfo=Member) as tar:
        for info in tar:
            file = tar.extractfile(info) if info.isreg() else None
            info.data = file.read() if file else None
            members[info.name] = info
    return members, outcome
