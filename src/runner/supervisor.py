"""PID 1 of a session: owns everything, reaps everything, runs no user code (PROTOCOL.md).

It accepts clients, keeps the lease, takes their calls to the Python of the session or to a command
pipeline, and ends when it is told to, when a lease or a life has run out, or when it cannot go on.
"""

import ctypes
import json
import os
import signal
import socket
import struct
import sys

from _sandcell import artifacts, cgroup, drop, flow, frames, procs
from _sandcell.calls import BadField, Call, number_field
from _sandcell.client import Client
from _sandcell.commands import Command
from _sandcell.loop import Loop, now
from _sandcell.python import Python
from _sandcell.records import Records
from _sandcell.transfers import Transfer
from _sandcell.zygote_link import ZygoteError

PROTOCOL = 1
CALLS = (
    "execute", "cli", "interrupt", "reset", "inspect", "complete", "history", "result",
    "put", "get", "ready", "ping", "stat", "lease", "watch", "close",
)  # fmt: skip
SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}
TO_KERNEL = {"execute", "inspect", "complete", "history"}
RECORDED = {"execute", "cli"}
STREAM = {"chunk", "credit", "end"}
MAX_CLIENTS = 64
FIRST_CLIENT_MS = 60_000  # how long the engine may take to bring the first one
COMMANDS_AT_ONCE = 16
TRANSFERS_AT_ONCE = 16


def main(zygote, setup):
    try:
        Supervisor(zygote, setup).run()
    except ZygoteError as error:
        sys.stderr.write("sandcell: cannot start a Python process: %s\n" % error)
        os._exit(71)


def open_listener():
    """Connectors wait here from now on, also while the zygote still imports."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0sandcell")
    listener.listen(64)
    listener.setblocking(False)
    return listener


def open_signals():
    """A descriptor for SIGCHLD, SIGTERM, SIGINT; who sent a signal is in what it gives."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    mask = (ctypes.c_uint8 * 128)()
    for number in SIGNALS:
        mask[(number - 1) // 8] |= 1 << (number - 1) % 8
    flags = os.O_CLOEXEC | os.O_NONBLOCK
    return drop.libc.signalfd(-1, ctypes.byref(mask), flags)


def peercred_is_honest():
    """Whether SO_PEERCRED names the uid of a peer; some runtimes answer with their own."""
    ours, theirs = socket.socketpair()
    name = "\0sandcell-check-%d" % os.getpid()
    with ours, theirs, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen(1)
        pid = os.fork()
        if pid == 0:
            try:
                os.setresuid(drop.SERVICE + 1, drop.SERVICE + 1, drop.SERVICE + 1)
                with socket.socket(socket.AF_UNIX) as peer:
                    peer.connect(name)
                    ours.recv(1)
            finally:
                os._exit(0)
        listener.settimeout(5)
        try:
            peer = listener.accept()[0]
        except OSError:
            return False
        with peer:
            honest = peer_uid(peer)[1] == drop.SERVICE + 1
        theirs.send(b".")
    os.waitpid(pid, 0)
    return honest


def peer_uid(peer):
    """(pid, uid) of a connected peer."""
    return struct.unpack("iII", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[:2]


class Supervisor:
    def __init__(self, zygote, setup):
        self.loop = Loop()
        self.listener = open_listener()
        self.setup = setup
        self.ready = {}
        self.met_client = False
        self.clients = []
        self.commands = {}  # pid of the leader -> Command
        self.scans = {}  # pid -> Scan
        self.transfers = {}  # pid -> Transfer
        self.records = Records()
        self.watchers = []  # (client, id) that get an event for each call
        self.lease = None
        self.idle = None
        self.begun = now()
        self.last_call = now()
        self.signals = open_signals()
        self.zygote = zygote
        self.peercred = peercred_is_honest()  # while the zygote imports
        self.python = Python(
            self.loop,
            setup,
            self.zygote,
            cgroup.OomCounter(),
            lambda: [*self.commands, *self.scans, *self.transfers],
            self._reap,
        )

    # ---- life

    def run(self):
        greeting = self.zygote.greet()
        self.python.start()
        self.ready = {
            "start_ms": (now() - self.begun) // 1_000_000,
            "preloaded": greeting["preloaded"],
            "preload_errors": greeting["errors"],
            "limits": cgroup.limits(),
            "landlock": self.setup["landlock"],
            "uid": self.setup["uid"],
            "gid": self.setup["gid"],
            "cwd_uid": os.stat(self.setup["cwd"]).st_uid,
        }
        self.loop.watch(self.signals, self._signal)
        self.loop.watch(self.listener.fileno(), self._accept)
        if self.setup.get("max_life_ms"):
            self.loop.after(self.setup["max_life_ms"], self.exit)
        self._count_idle()
        self._count_lease()
        self.loop.run()

    def exit(self):
        """The end of PID 1 is the end of every process here; the engine removes the container."""
        os._exit(0)

    def _signal(self, _events):
        data = os.read(self.signals, 128 * 16)
        for at in range(0, len(data), 128):
            number, _errno, _code, sender = struct.unpack_from("IiiI", data, at)
            # Only from outside the container, where the sender has no pid here, they mean us.
            if number != signal.SIGCHLD and sender == 0:
                self.exit()
        self._reap()

    def _reap(self):
        for pid, status, usage in procs.reap():
            other = self.commands.get(pid) or self.scans.get(pid) or self.transfers.get(pid)
            if other:
                other.on_child_ended(status)
            else:
                self.python.on_child_ended(pid, status, usage)

    def _count_lease(self):
        self.loop.cancel(self.lease)
        self.lease = None
        if not self.clients and not any(call.detached for call in self._running()):
            lease = self.setup["lease_ms"] if self.met_client else FIRST_CLIENT_MS
            self.lease = self.loop.after(lease, self.exit)

    def _count_idle(self):
        if self.setup.get("idle_ms"):
            self.loop.cancel(self.idle)
            self.idle = self.loop.after(self.setup["idle_ms"], self._idle_over)

    def _idle_over(self):
        if self._running():
            self._count_idle()
        else:
            self.exit()

    # ---- clients

    def _accept(self, _events):
        try:
            connection = self.listener.accept()[0]
        except OSError:
            return
        if not self._welcome(connection):
            connection.close()
            return
        self.loop.watch(connection.fileno(), lambda _events: self._take_fds(connection))

    def _welcome(self, connection):
        if not self.peercred:
            return not self.met_client
        return peer_uid(connection)[1] == drop.SERVICE and len(self.clients) < MAX_CLIENTS

    def _take_fds(self, connection):
        self.loop.forget(connection.fileno())
        try:
            _data, fds, _flags, _address = socket.recv_fds(connection, 1, 2)
        except OSError:
            fds = []
        if len(fds) == 2:
            self._add_client(connection, fds)
        else:
            connection.close()

    def _add_client(self, connection, fds):
        client = Client(
            self.loop, connection, fds, self._frame, self._client_gone, self._drained
        )
        self.clients.append(client)
        self.met_client = True
        self._count_lease()

    def _client_gone(self, client):
        self.clients.remove(client)
        self.watchers = [watcher for watcher in self.watchers if watcher[0] is not client]
        self.python.forget_client(client)
        for command in self.commands.values():
            command.call.forget(client)
        for transfer in list(self.transfers.values()):
            if transfer.call.client is client:
                transfer.call.forget(client)
                transfer.stop("interrupted")
        self._drained()  # nobody holds the output back any more
        self._count_lease()

    def _drained(self):
        self.python.resume_output()
        for command in self.commands.values():
            command.link.resume()

    # ---- frames

    def _hello(self, client, header):
        if header.get("protocol") != PROTOCOL:
            client.fail("protocol %.20r is not spoken here, only %d" % (header.get("protocol"), PROTOCOL))
            return
        client.said_hello = True
        client.send(
            {
                "type": "hello",
                "protocol": PROTOCOL,
                "capabilities": list(CALLS),
                "python": "%d.%d.%d" % sys.version_info[:3],
                "peercred": self.peercred,
                "state": "ready" if self.python.kernel else "new",
                "calls": [call.id for call in self._running()],
            }
        )

    def _frame(self, client, header, content):
        kind = header["type"]
        if kind == "hello":
            self._hello(client, header)
        elif not client.said_hello:
            client.fail("the first frame has to be hello, not %.40r" % kind)
        elif kind == "interrupt":
            self._interrupt(header.get("target"))
        elif kind in STREAM:
            self._stream(client, header, content)
        elif kind not in CALLS or "id" not in header:
            client.fail("unknown frame type %.40r, or no id" % kind)
        else:
            self.last_call = now()
            self._count_idle()
            try:
                self._call(client, header, content)
            except BadField as error:
                client.fail(str(error))

    def _stream(self, client, header, content):
        """A frame of a stream; those of a stream whose call has ended may still be under way."""
        for call, stream in self._streams():
            if call.id == header.get("id") and call.client is client:
                flow.dispatch(stream, header, content)

    def _streams(self):
        return [(transfer.call, transfer.stream) for transfer in self.transfers.values()]

    def _call(self, client, header, content):
        kind = header["type"]
        parts = frames.split_parts(header, content) if content else {}
        call = Call(kind, client, header, parts, self._call_finished)
        if kind in RECORDED:
            self._tell_watchers("queued" if self.python.call and kind == "execute" else "started", call)
        if kind == "execute" and header.get("artifacts") is True:
            self._execute_listed(call)
        elif kind in TO_KERNEL:
            self.python.submit(call)
        else:
            getattr(self, "_answer_" + kind)(call)

    def _running(self):
        others = (*self.commands.values(), *self.transfers.values())
        return self.python.running() + [other.call for other in others]

    def _call_finished(self, call):
        if call.kind in RECORDED:
            self.records.keep(call.id, call.record)
            self._tell_watchers("ended", call)
            self.last_call = now()
            self._count_idle()
        if not self.clients and self.lease is None:
            # The call is still in its place; look again when it has left it.
            self.loop.after(0, self._count_lease)

    def _tell_watchers(self, event, call):
        for client, number in self.watchers:
            frame = {"type": "event", "id": number, "event": event, "call": call.id, "kind": call.kind}
            if call.record.result:
                result = call.record.result[0]
                frame.update(status=result["status"], duration_ns=result["duration_ns"])
            client.send(frame)

    def _interrupt(self, target):
        for command in list(self.commands.values()):
            if command.call.id == target:
                command.stop("interrupted")
                return
        for transfer in list(self.transfers.values()):
            if transfer.call.id == target:
                transfer.stop("interrupted")
                return
        for call in self.python.running():
            if call.id == target:
                self.python.stop_call(call, "interrupted")
                return

    def _answer_cli(self, call):
        if "form" not in call.parts:
            raise BadField("cli without a form")
        if len(self.commands) >= COMMANDS_AT_ONCE:
            call.finish("busy")
            return
        try:
            command = Command(self.loop, self.setup, self.zygote, call, self._command_finished)
        except ZygoteError as error:
            call.finish("error", [("error", str(error).encode())], state_preserved=True)
            return
        self.commands[command.pid] = command

    def _command_finished(self, command):
        self.commands.pop(command.pid, None)

    def _answer_put(self, call):
        if len(self.transfers) >= TRANSFERS_AT_ONCE:
            call.finish("busy")
            return
        try:
            transfer = Transfer(self.loop, self.setup, self.zygote, call, self._transfer_finished)
        except ZygoteError as error:
            call.finish("error", [("error", str(error).encode())], state_preserved=True)
            return
        self.transfers[transfer.pid] = transfer

    _answer_get = _answer_put

    def _transfer_finished(self, transfer):
        self.transfers.pop(transfer.pid, None)

    # ---- artifacts

    def _execute_listed(self, call):
        """The workspace is listed before the call starts and once more when it has ended."""

        def after(before):
            if before is not None:
                call.before_result = lambda send: self._list(lambda now: send(changes(before, now)))
            if call.client or call.detached:
                self.python.submit(call)

        def changes(before, now):
            found = now is not None and artifacts.compare(before, now)
            return [("artifacts", json.dumps(found).encode("ascii"))] if found else []

        self._list(after)

    def _list(self, on_listing):
        """Gives the listing of the workspace to a function; None where there is none to be had."""

        def done(scan, listing):
            self.scans.pop(scan.pid, None)
            on_listing(listing)

        try:
            scan = artifacts.Scan(self.loop, self.setup, self.zygote, done)
        except ZygoteError:
            on_listing(None)
        else:
            self.scans[scan.pid] = scan

    # ---- other calls

    def _answer_result(self, call):
        """Again what a call left behind; waits for one that still runs."""
        target = number_field(call.header, "target", 0)
        record = self.records.get(target)
        running = [other for other in self._running() if other.id == target]
        if record:
            record.replay(call.client, call.id)
        elif running:
            running[0].waiters.append((call.client, call.id))
        else:
            text = "no call %d is known here: it never came, or its result is kept no longer" % target
            call.finish("lost", [("error", text.encode())])

    def _answer_reset(self, call):
        call.begin()
        self.python.reset()
        self.records.clear()
        call.finish("ok", state_preserved=False)

    def _answer_ready(self, call):
        call.finish("ok", **self.ready)

    def _answer_ping(self, call):
        call.finish("ok")

    def _answer_lease(self, call):
        """A new length for the time without a client; 0 asks only."""
        lease_ms = number_field(call.header, "lease_ms", 0)
        if lease_ms:
            self.setup["lease_ms"] = lease_ms
        call.finish("ok", lease_ms=self.setup["lease_ms"])

    def _answer_watch(self, call):
        """From now on an event frame for each call, until the client leaves."""
        self.watchers.append((call.client, call.id))
        call.finish("ok")

    def _answer_close(self, call):
        call.finish("ok")
        self.exit()

    def _answer_stat(self, call):
        age = (now() - self.begun) // 1_000_000
        life = self.setup.get("max_life_ms")
        running = self._running()
        call.finish(
            "ok",
            processes=len(procs.user_processes(self.setup["uid"])),
            memory_bytes=cgroup.memory_used(),
            cpu_ns=cgroup.cpu_used(),
            calls=self.python.calls,
            running=[other.id for other in running],
            running_ms=(now() - running[0].started) // 1_000_000 if running and running[0].started else 0,
            clients=len(self.clients),
            idle_ms=0 if running else (now() - self.last_call) // 1_000_000,
            age_ms=age,
            lease_ms=self.setup["lease_ms"],
            life_left_ms=max(life - age, 0) if life else None,
        )
