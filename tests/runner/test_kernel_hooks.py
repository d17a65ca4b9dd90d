"""Modules that are changed when they are loaded: stand-ins here, the real ones in tests/datasci."""

import pytest

PYPLOT = """
import sys
def show(): print('their own')
def pause(): show()
loader = type(__loader__).__name__, type(__spec__.loader).__name__
def close(which): assert which == 'all'; _closed.append(which)
_closed = []
"""


@pytest.fixture
def modules(tmp_path):
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib/__init__.py").write_text("")
    (tmp_path / "matplotlib/pyplot.py").write_text(PYPLOT)
    core = tmp_path / "IPython/core"
    core.mkdir(parents=True)
    (core.parent / "__init__.py").write_text("")
    (core / "__init__.py").write_text("")
    (core / "display_functions.py").write_text("def display(*objs): print(*objs)\n")
    (core.parent / "display.py").write_text("from .core.display_functions import *\n")


@pytest.mark.usefixtures("modules")
def test_show_is_ours_at_once(kernel):
    result = kernel.execute("import matplotlib.pyplot as plt\nplt.show(block=False); plt.pause()\nplt.loader")
    assert (result.stdout, result.output) == (b"", "('SourceFileLoader', 'SourceFileLoader')")
    assert kernel.execute("plt.show.__wrapped__.__module__").output == "matplotlib.pyplot"


@pytest.mark.usefixtures("modules")
def test_display_of_notebooks(kernel):
    result = kernel.execute(
        "from IPython.display import display\nclass P:\n    def _repr_html_(self): return 'p'\n    def __repr__(self): return 'P'\ndisplay(P())"
    )
    assert (result.stdout, result.displays) == (b"", [{"text/plain": b"P", "text/html": b"p"}])


@pytest.mark.usefixtures("modules")
def test_the_finder_leaves(kernel):
    count = "[type(f).__name__ for f in __import__('sys').meta_path].count('_Finder')"
    assert kernel.execute(count).output == 1
    kernel.execute("import matplotlib.pyplot")
    assert kernel.execute(count).output == 1
    kernel.execute("import IPython.display")
    assert kernel.execute(count).output == 0


def test_modules_that_are_not_there(kernel):
    result = kernel.execute("import matplotlib.pyplot")
    assert "ModuleNotFoundError: No module named 'matplotlib" in result.error and "sandcell" not in result.error


def test_a_module_that_fails_while_it_loads(kernel, tmp_path):
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib/__init__.py").write_text("")
    (tmp_path / "matplotlib/pyplot.py").write_text("1/0")
    for _ in range(2):
        error = kernel.execute("import matplotlib.pyplot").error
        assert "ZeroDivisionError" in error and "sandcell" not in error
    (tmp_path / "matplotlib/pyplot.py").write_text(PYPLOT + "# longer than before\n")
    assert kernel.execute("import matplotlib.pyplot as plt\nplt.show()").stdout == b""


def test_figures_of_a_broken_library_break_nothing(kernel, tmp_path):
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib/__init__.py").write_text("")
    (tmp_path / "matplotlib/pyplot.py").write_text("def show(): pass\nclose = None\n")
    (tmp_path / "matplotlib/_pylab_helpers.py").write_text("class Gcf:\n    get_all_fig_managers = staticmethod(lambda: [1])\n")
    result = kernel.execute("import matplotlib.pyplot as plt, matplotlib._pylab_helpers\n5")
    assert (result.status, result.output) == ("ok", 5)
    assert result.stderr.startswith(b"sandcell: capturing figures failed\n")
    assert result.stderr.endswith(b"TypeError: 'NoneType' object is not callable\n")
    assert b"<sandcell:" not in result.stderr
