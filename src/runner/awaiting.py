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

    def run(self, program, namespace):
        """The value of a program of which a part awaits."""
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        loop = self.loop
        asyncio.set_event_loop(loop)
        task = loop.create_task(_steps(program, namespace))
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt:
            if task.done():
                if not task.cancelled():
                    task.exception()  # it is on its way to the user already
                raise
            return self._cancel(asyncio, task)

    def _cancel(self, asyncio, task):
        """The signal came while everything waited: let the cell's own lines see it."""
        task.cancel()
        try:
            self.loop.run_until_complete(task)
        except asyncio.CancelledError as error:
            tb = error.__traceback__
        else:
            return None  # it took the cancellation for its end
        raise KeyboardInterrupt().with_traceback(tb) from None


async def _steps(program, namespace):
    """Both parts in one task, so that context variables carry over."""
    value = None
    for code in (program.head, program.tail):
        value = None
        if code is not None:
            value = eval(code, namespace)
            if code.co_flags & source.COROUTINE:
                value = await value
    return value
