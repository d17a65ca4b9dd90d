"""Tables of results as DataFrames. pandas is in the image only, so the code that reads tables
runs there, on what pandas displays."""
from pathlib import Path

import pytest

import sandcell

PACKAGE = Path(sandcell.__file__).parent
SETUP = """
import sys, types
import numpy as np, pandas as pd
package = sys.modules["sandcell"] = types.ModuleType("sandcell")
package.__path__ = []
for name, source in %r.items():
    module = sys.modules["sandcell." + name] = types.ModuleType("sandcell." + name)
    module.__package__ = "sandcell"
    setattr(package, name, module)
    exec(compile(source, name, "exec"), vars(module))
read = package._table.from_html

def same(frame):
    pd.testing.assert_frame_equal(read(frame._repr_html_()), frame)
    return True
"""


@pytest.fixture(scope="module")
def pandas():
    sources = {name: (PACKAGE / f"{name}.py").read_text() for name in ("_markup", "_table")}
    with sandcell.Session("sandcell/datasci") as session:
        session.execute(SETUP % sources).raise_for_status()
        yield session


@pytest.mark.parametrize("frame", [
    "pd.DataFrame({'a': [1, 2], 'b': ['x', '<y>&'], 'c': [1.5, np.nan]})",
    "pd.DataFrame({'n': [1, 2]}, index=['p', 'q'])",
    "pd.DataFrame(np.arange(8).reshape(2, 4),"
    " columns=pd.MultiIndex.from_product([['u', 'v'], ['p', 'q']]))",
    "pd.DataFrame({'empty': ['', 'x']})",
])
def test_frame_survives_its_display(pandas, frame):
    result = pandas.execute(f"same({frame})")
    assert result.output is True, result.error


def test_index_with_a_name(pandas):
    code = ("frame = pd.DataFrame({'k': ['a', 'b'], 'n': [1, 2]}).set_index('k')\n"
            "back = read(frame._repr_html_())\n"
            "[list(back.columns), list(back.index), back['n'].tolist()]")
    assert pandas.execute(code).output == [["n"], ["a", "b"], [1, 2]]


@pytest.mark.parametrize("shape", ["(1000, 3)", "(3, 100)"])
def test_shortened_display_is_refused(pandas, shape):
    result = pandas.execute(f"read(pd.DataFrame(np.zeros({shape}))._repr_html_())")
    assert "ValueError: pandas showed only some of" in result.error


def test_display_with_its_size_is_complete(pandas):
    result = pandas.execute("with pd.option_context('display.show_dimensions', True):\n"
                            "    text = pd.DataFrame({'a': [1]})._repr_html_()\n"
                            "assert 'rows' in text\nread(text).shape == (1, 1)")
    assert result.output is True, result.error
