"""Figures of matplotlib: captured as PNG when the user shows them and at the end of the cell.

matplotlib is never imported here: once the user's code has, plt.show() is ours from its first call on.
"""

import builtins
import io
import sys

from _sandcell import display, value

__builtins__ = dict(vars(builtins))  # user code may break the shared ones

PYPLOT = "matplotlib.pyplot"


class Figures:
    def __init__(self, displays):
        self.displays = displays
        self.shown = []  # figures that display() has sent, not to be sent again

    def take_over(self, pyplot):
        original = pyplot.show

        def show(*_args, **_kwargs):
            """Show all open figures: each becomes a picture of the cell and is closed."""
            self.capture()

        show.__wrapped__ = original
        pyplot.show = show

    @staticmethod
    def _managers():
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        return list(helpers.Gcf.get_all_fig_managers()) if helpers else []

    def capture(self, send=True):
        """Sends the open figures in the order of their numbers, and closes them."""
        if PYPLOT not in sys.modules:
            return
        try:
            managers = self._managers()
            if not managers:
                return
            try:
                for manager in managers if send else ():
                    figure = manager.canvas.figure
                    if not any(figure is one for one in self.shown):
                        self._send(figure)
            finally:
                sys.modules[PYPLOT].close("all")
                self.shown.clear()
        except Exception:
            display.note_failure("capturing figures")

    def _send(self, figure):
        try:
            parts = self._parts(figure)
        except Exception:
            display.note_failure("drawing a figure")
            return
        if parts is not None:
            self.displays.emit(parts)

    @staticmethod
    def _parts(figure):
        # A figure without anything on it is no picture, as in Jupyter.
        if not figure.axes and not figure.lines and not figure.images and not figure.texts:
            return None
        buffer = io.BytesIO()
        figure.canvas.print_figure(
            buffer,
            format="png",
            dpi=figure.dpi,
            facecolor=figure.get_facecolor(),
            edgecolor=figure.get_edgecolor(),
            bbox_inches="tight",
        )
        return {display.TEXT: value.repr_bytes(figure), "image/png": buffer.getvalue()}

    def bundle(self, obj):
        """The parts of a Figure, None for anything else."""
        module = sys.modules.get("matplotlib.figure")
        try:
            if module is None or not isinstance(obj, module.Figure):
                return None
            parts = self._parts(obj)
            if parts is not None:
                self.shown.append(obj)
            return parts
        except Exception:
            display.note_failure("drawing a figure")
            return None

    def is_open(self, obj):
        """Whether the end of the cell will send it anyway."""
        try:
            return any(manager.canvas.figure is obj for manager in self._managers())
        except Exception:
            return False
