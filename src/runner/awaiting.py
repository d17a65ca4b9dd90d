"""Top-level await: one event loop for all cells, running only while a cell awaits.

Tasks that a cell leaves behind rest when it ends and go on when a later cell awaits something.
asyncio is imported at the first await, not before.
"""

import builtins

from _sandcell import source

__builtins__ = dict(vars(builtins))  # user code may break the shared ones


class Awaiter:
    def __init__(self):
        self.loop = None
        self.where = None  # the traceback of a cancellation: before 3.11 asyncio loses it

    def run(self, program, namespace):
        """The value of a program of which a part awaits."""
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        loop = self.loop
        asyncio.set_event_loop(loop)
        task = loop.create_task(self._steps(asyncio, program, namespace))
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt:
            if task.done():
                if not task.cancelled():
                    task.exception()  # it is on its way to the user already
                raise
            return self._cancel(asyncio, task)
        finally:
            self.where = None

    def _cancel(self, asyncio, task):
        """The signal came while everything waited: let the cell's own lines see it."""
        self.where = None
        task.cancel()
        try:
            self.loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise KeyboardInterrupt().with_traceback(self.where) from None
        return None  # it took the cancellation for its end

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
