"""Top-level await: one event loop for all cells, running only while a cell awaits.

Tasks that a cell leaves behind rest when it ends and go on when a later cell awaits something.
asyncio is imported at the first await, not before.
"""

import builtins

from _sandcell import gate, source

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

LOOP_MODULES = ("asyncio.", "selectors")


class Awaiter:
    def __init__(self):
        self.loop = None
        self.task = None
        self.victim = None  # the task that a SIGINT hit
        self.cancelled = False  # by a SIGINT
        self.where = None  # the traceback of the cancellation: before 3.11 asyncio loses it

    def run(self, program, namespace):
        """The value of a program of which a part awaits."""
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.task = self.loop.create_task(self._steps(asyncio, program, namespace))
        self.cancelled = False
        self.current_task = asyncio.current_task
        try:
            with gate.Handler(self._interrupt):
                return self._finish(asyncio)
        finally:
            self.task = self.victim = self.where = None

    def _interrupt(self, number, frame):
        """Raises in the user's code; the loop's own code would lose what it has in hand.

        There the task of the cell is cancelled instead, which raises where it waits.
        """
        inside = frame is not None and str(frame.f_globals.get("__name__")).startswith(LOOP_MODULES)
        if not inside or self.cancelled:
            self.victim = self.current_task(self.loop)
            raise KeyboardInterrupt
        self.cancelled = True
        self.task.cancel()
        self.loop.call_soon_threadsafe(bool)  # it may be asleep

    def _finish(self, asyncio):
        task = self.task
        try:
            return self.loop.run_until_complete(task)
        except asyncio.CancelledError:
            if not self.cancelled:
                raise
        except KeyboardInterrupt:
            for one in (task, self.victim):
                if one is not None and one.done() and not one.cancelled():
                    one.exception()  # it is on its way to the user already
            if task.done():
                raise
            # Another task was interrupted: that ends this one, too.
            self.cancelled = True
            task.cancel()
            try:
                return self.loop.run_until_complete(task)
            except asyncio.CancelledError:
                pass
        raise KeyboardInterrupt().with_traceback(self.where) from None

    async def _steps(self, asyncio, program, namespace):
        """Both parts in one task, so that context variables carry over."""
        value = None
        try:
            for code in (program.head, program.tail):
                value = None
                if code is not None:
                    value = eval(code, namespace)
                    if code.co_flags & source.COROUTINE:
                        value = await value
        except asyncio.CancelledError as error:
            self.where = error.__traceback__
            raise
        return value
