"""PID 1 of a session: owns everything, reaps everything, runs no user code (PROTOCOL.md).

It accepts clients, keeps the lease, takes their calls to the Python of the session or to a command
pipeline, and ends when it is told to, when a lease or a life has run out, or when it cannot go on.
"""

import collections
import ctypes
import gc
import json
import os
import signal
import socket
import struct
import sys

from _sandcell import cgroup, drop, flow, frames, procs
from _sandcell.calls import BadField, Call, number_field
from _sandcell.checkpoints import Checkpoint, Rollback
from _sandcell.client import Client
from _sandcell.commands import Command, Leaders
from _sandcell.lifetime import Lifetime
from _sandcell.loop import Loop, now
from _sandcell.python import Python
from _sandcell.records import Records
from _sandcell.zygote_link import ZygoteError

PROTOCOL = 1
CALLS = (
    "execute", "cli", "interrupt", "reset", "inspect", "complete", "history", "result",
    "put", "get", "snapshot", "restore", "checkpoint", "rollback", "forget", "ready", "ping", "stat", "lease", "watch", "close",
)  # fmt: skip
SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}
TO_KERNEL = {"execute", "inspect", "complete", "history"}
RECORDED = {"execute", "cli"}
STREAM = {"chunk", "credit", "end"}
MAX_CLIENTS = 64
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


def log(text):
    """For the engine's log of the container; dropped rather than waited for."""
    try:
        os.write(2, b"sandcell: %s\n" % text.encode())
    except OSError:
        pass


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
        self.life = Lifetime(self.loop, setup, lambda: not self._running(), self._end)
        self.commands = {}  # pid of the leader -> Command
        self.scans = {}  # pid -> Scan
        self.transfers = {}  # pid -> Transfer
        self.operations = []  # Saving and Restoring
        self.records = Records()
        self.watchers = []  # (client, id) that get an event for each call
        self.ended = collections.Counter()  # execute and cli calls, by status
        self.signals = open_signals()
        self.zygote = zygote
        self.leaders = Leaders(self.loop, setup["uid"], zygote)
        self.peercred = peercred_is_honest()  # while the zygote imports
        self.python = Python(
            self.loop,
            setup,
            self.zygote,
            cgroup.OomCounter(),
            lambda: [*self.commands, *self.scans, *self.transfers, *self._operating()],
            self._reap,
        )

    # ---- life

    def run(self):
        greeting = self.zygote.greet()
        self.python.start()
        self.ready = {
            "start_ms": self.life.age_ms(),
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
        self.life.start()
        os.set_blocking(2, False)
        log("ready after %d ms" % self.ready["start_ms"])
        gc.freeze()  # what is there now stays, and its pages stay shared with the zygote
        gc.enable()  # boot.py switched it off
        self.loop.run()

    @staticmethod
    def _end(status, reason):
        """The end of PID 1 is the end of every process here; the engine removes the container."""
        log("ends: " + reason)
        os._exit(status)

    def _signal(self, _events):
        data = os.read(self.signals, 128 * 16)
        for at in range(0, len(data), 128):
            number, _errno, _code, sender = struct.unpack_from("IiiI", data, at)
            # Only from outside the container, where the sender has no pid here, they mean us.
            if number != signal.SIGCHLD and sender == 0:
                self._end(0, "signal %d from outside" % number)
        self._reap()

    def _reap(self):
        for pid, status, usage in procs.reap():
            other = self.commands.get(pid) or self.scans.get(pid) or self.transfers.get(pid)
            if other is None:
                other = next((one for one in self.operations if one.pid == pid), None)
            if other:
                other.on_child_ended(status)
            elif not self.leaders.on_child_ended(pid):
                self.python.on_child_ended(pid, status, usage)

    def _count_holders(self):
        """Whom the session lives for: clients that do not only look on, and detached calls."""
        clients = any(client.said_hello and not client.observes for client in self.clients)
        self.life.hold(clients or any(call.detached for call in self._running()))

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

    def _client_gone(self, client):
        self.clients.remove(client)
        self.watchers = [watcher for watcher in self.watchers if watcher[0] is not client]
        for other in (*self.transfers.values(), *self.operations):
            if other.call.client is client:
                other.stop("interrupted")
        self.python.forget_client(client)
        for command in self.commands.values():
            command.call.forget(client)
        self._drained()  # nobody holds the output back any more
        self._count_holders()
        log("client %s has left" % client.name)

    def _drained(self):
        self.python.resume_output()
        for command in self.commands.values():
            command.link.resume()

    # ---- frames

    def _hello(self, client, header):
        if header.get("protocol") != PROTOCOL:
            client.fail("protocol %.20r is not spoken here, only %d" % (header.get("protocol"), PROTOCOL))
            return
        self._meet(client, header)
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

    def _meet(self, client, header):
        """A client that comes again takes the place of its stream that was lost."""
        name = header.get("client")
        client.name = name if type(name) is str and name.isalnum() and len(name) <= 16 else "nameless"
        for other in list(self.clients):
            if other is not client and other.name == client.name != "nameless":
                other.close()
        client.observes = header.get("observe") is True
        client.said_hello = True
        self._count_holders()
        log("client %s%s" % (client.name, " looks on" if client.observes else ""))

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
            if not client.observes:
                self.life.touch()
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
        others = (*self.transfers.values(), *self.operations)
        return [(other.call, other.stream) for other in others if other.stream]

    def _call(self, client, header, content):
        kind = header["type"]
        parts = frames.split_parts(header, content) if content else {}
        call = Call(kind, client, header, parts, self._call_finished)
        if kind in RECORDED:
            call.on_begun = lambda call: self._tell_watchers("started", call)
        if kind == "execute" and header.get("artifacts") is True:
            self._execute_listed(call)
        elif kind in TO_KERNEL:
            self.python.submit(call)
        else:
            getattr(self, "_answer_" + kind)(call)
        if kind in RECORDED and not call.started and not call.finished:
            self._tell_watchers("queued", call)
        if call.detached and not call.finished:
            call.release()

    def _running(self):
        calls = self.python.running()
        others = (*self.commands.values(), *self.transfers.values(), *self.operations)
        return calls + [other.call for other in others if other.call not in calls]

    def _call_finished(self, call):
        status = call.record.result[0]["status"]
        if call.kind in RECORDED and status != "busy":
            self.records.keep(call.id, call.record)
            self.ended[status] += 1
            self._tell_watchers("ended", call)
            self.life.touch()
        if call.detached:
            # The call is still in its place; look again when it has left it.
            self.loop.after(0, self._count_holders)

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
        for other in (*self.transfers.values(), *self.operations):
            if other.call.id == target:
                other.stop("interrupted")
                return
        for call in self.python.running():
            if call.id == target:
                self.python.stop_call(call, "interrupted")
                return
        for call in self._running():
            if call.stop_waiting(target):
                return

    def _answer_cli(self, call):
        if "form" not in call.parts:
            raise BadField("cli without a form")
        if len(self.commands) >= COMMANDS_AT_ONCE:
            call.finish("busy")
            return
        try:
            command = Command(self.loop, self.leaders, call, self._command_finished)
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
        from _sandcell import transfers  # here, and so below: compiling it would delay the opening

        try:
            transfer = transfers.Transfer(self.loop, self.setup, self.zygote, call, self._transfer_finished)
        except ZygoteError as error:
            call.finish("error", [("error", str(error).encode())], state_preserved=True)
            return
        self.transfers[transfer.pid] = transfer

    _answer_get = _answer_put

    def _transfer_finished(self, transfer):
        self.transfers.pop(transfer.pid, None)

    def _answer_snapshot(self, call):
        from _sandcell import snapshots

        self._operate(call, snapshots.Saving)

    def _answer_restore(self, call):
        from _sandcell import snapshots

        self._operate(call, snapshots.Restoring)

    def _operate(self, call, kind):
        call.operation = kind(self.python, call, self.operations.remove)
        self.operations.append(call.operation)
        self.python.submit(call)

    def _operating(self):
        pids = [operation.pid for operation in self.operations if operation.pid]
        return pids + self.python.checkpoints.sessions()

    def _answer_checkpoint(self, call):
        call.operation = Checkpoint(self.python, call)
        self.python.submit(call)

    def _answer_rollback(self, call):
        call.operation = Rollback(self.python, call)
        self.python.submit(call)

    def _answer_forget(self, call):
        number = number_field(call.header, "checkpoint", 0)
        if self.python.checkpoints.forget(number):
            call.finish("ok", state_preserved=True)
        else:
            text = b"there is no checkpoint %d" % number
            call.finish("error", [("error", text)], state_preserved=True)

    # ---- artifacts

    def _execute_listed(self, call):
        """The workspace is listed before the call starts and once more when it has ended."""
        from _sandcell import artifacts

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

        from _sandcell import artifacts

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
        elif running and call.header.get("wait") is False:
            call.finish("busy")
        elif running:
            running[0].take_over(call.client, call.id)
        else:
            text = "no call %d is known here: it never came, or its result is kept no longer" % target
            call.finish("lost", [("error", text.encode())])

    def _answer_reset(self, call):
        call.begin()
        self.python.reset()
        self.records.clear()
        call.finish("ok", state_preserved=False)
        drop.give_memory_back()  # while the fresh kernel gets ready

    def _answer_ready(self, call):
        call.finish("ok", **self.ready)

    def _answer_ping(self, call):
        call.finish("ok")

    def _answer_lease(self, call):
        """A new length for the time without a client; 0 asks only."""
        lease_ms = number_field(call.header, "lease_ms", 0)
        if lease_ms:
            self.life.renew(lease_ms)
        call.finish("ok", lease_ms=self.life.lease_ms, lease_left_ms=self.life.lease_left_ms())

    def _answer_watch(self, call):
        """From now on an event frame for each call, until the client leaves."""
        self.watchers.append((call.client, call.id))
        call.finish("ok")

    def _answer_close(self, call):
        call.finish("ok")
        self._end(0, "closed by a client")

    def _answer_stat(self, call):
        life = self.life
        running = self._running()
        begun = running[0].started if running else 0
        call.finish(
            "ok",
            processes=len(procs.user_processes(self.setup["uid"])),
            memory_bytes=cgroup.memory_used(),
            cpu_ns=cgroup.cpu_used(),
            calls=self.python.calls,
            ended=self.ended,
            running=[other.id for other in running],
            running_ms=(now() - begun) // 1_000_000 if begun else 0,
            clients=sum(client.said_hello and not client.observes for client in self.clients),
            idle_ms=life.idle_for_ms(),
            age_ms=life.age_ms(),
            lease_ms=life.lease_ms,
            lease_left_ms=life.lease_left_ms(),
            life_left_ms=life.life_left_ms(),
        )
