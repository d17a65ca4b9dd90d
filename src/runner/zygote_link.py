"""The supervisor's side of the zygote: starting it, asking it to fork, replacing it."""

import json
import os
import select
import signal
import socket

FORK_DEADLINE_MS = 10_000
START_DEADLINE_MS = 120_000  # preloaded modules are imported in this time
MESSAGE = 65536


class ZygoteError(Exception):
    """The zygote did not do what it was asked."""


class ForkRefused(ZygoteError):
    """The zygote is well, but no process can be made, as at the pids limit."""


def close_all_but(link):
    """A zygote holds nothing of the supervisor's: stdio and its own link only."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != link:
            try:
                os.close(int(name))
            except OSError:
                pass  # the descriptor of the listing itself


class ZygoteLink:
    def __init__(self, setup):
        self.setup = setup
        self.pid = 0
        self.link = None
        self.greeting = None

    def start(self):
        """Forks it without waiting; the greeting is taken by the first fork, or by greet()."""
        self.link, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.greeting = None
        try:
            pid = os.fork()
        except OSError as error:
            raise ZygoteError("no zygote can be started: %s" % error.strerror) from None
        if pid == 0:
            try:
                close_all_but(other.fileno())
                signal.pthread_sigmask(signal.SIG_SETMASK, [])
                signal.signal(signal.SIGINT, signal.default_int_handler)
                from _sandcell import zygote

                zygote.main(other, self.setup)
            finally:
                os._exit(70)
        other.close()
        self.pid = pid

    def _receive(self, deadline_ms):
        poll = select.poll()
        poll.register(self.link, select.POLLIN)
        if not poll.poll(deadline_ms):
            raise ZygoteError("no answer from the zygote within %d s" % (deadline_ms // 1000))
        try:
            message = self.link.recv(MESSAGE)
        except OSError as error:
            raise ZygoteError("zygote: %s" % error.strerror) from None
        if not message:
            raise ZygoteError("the zygote has ended")
        return json.loads(message)

    def greet(self):
        """Waits until the preloaded modules are in."""
        if self.greeting is None:
            self.greeting = self._receive(START_DEADLINE_MS)
        return self.greeting

    def _ask(self, request, fds):
        self.greet()
        try:
            socket.send_fds(self.link, [json.dumps(request).encode()], fds)
        except OSError as error:
            raise ZygoteError("zygote: %s" % error.strerror) from None
        answer = self._receive(FORK_DEADLINE_MS)
        if answer["type"] != "forked":
            raise ForkRefused("no process can be started in the container: %s" % answer["message"])
        return answer["pid"]

    def fork(self, request, fds):
        """The pid of a new process with those descriptors; a broken zygote is replaced once."""
        try:
            return self._ask(request, fds)
        except ForkRefused:
            raise
        except ZygoteError:
            self.replace()
            return self._ask(request, fds)

    def replace(self):
        if self.pid:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except OSError:
                pass
        self.link.close()
        self.start()
