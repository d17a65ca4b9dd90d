"""One poll loop with timers: everything the supervisor waits for is here."""

import heapq
import select
import time

POLLIN, POLLOUT = select.POLLIN, select.POLLOUT

now = time.monotonic_ns


class Loop:
    def __init__(self):
        self._poll = select.poll()
        self._handlers = {}
        self._timers = []  # heap of [when, order, function or None]
        self._order = 0
        self.stopped = False

    def watch(self, fd, handler, events=POLLIN):
        self._handlers[fd] = handler
        self._poll.register(fd, events)

    def forget(self, fd):
        if self._handlers.pop(fd, None):
            self._poll.unregister(fd)

    def watches(self, fd):
        return fd in self._handlers

    def after(self, milliseconds, function):
        """A timer; give it to cancel()."""
        self._order += 1
        timer = [now() + milliseconds * 1_000_000, self._order, function]
        heapq.heappush(self._timers, timer)
        return timer

    @staticmethod
    def cancel(timer):
        if timer:
            timer[2] = None

    def run(self):
        timers = self._timers
        handlers = self._handlers
        wait = self._poll.poll
        while not self.stopped:
            while timers and (timers[0][2] is None or timers[0][0] <= now()):
                function = heapq.heappop(timers)[2]
                if function:
                    function()
            if self.stopped:
                break
            if len(timers) > 1000:
                self._sweep()
            timeout = (timers[0][0] - now()) // 1_000_000 + 1 if timers else None
            for fd, events in wait(timeout if timeout is None or timeout > 0 else 0):
                handler = handlers.get(fd)
                if handler:
                    handler(events)

    def _sweep(self):
        # Cancelled timers stay in the heap until their time; a busy session makes many.
        self._timers[:] = [timer for timer in self._timers if timer[2]]
        heapq.heapify(self._timers)
