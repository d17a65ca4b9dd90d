"""Displays with the real libraries: runs inside the image, without pytest, one line for each test."""

import json
import sys
import time
import traceback

import cases
from harness import Kernel

TABLE = "application/vnd.sandcell.table+json"
PNG = b"\x89PNG\r\n\x1a\n"


def check_size(png):
    width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
    assert 300 < width < 1000 and 200 < height < 1000, (width, height)


def test_show_and_end_of_cell(kernel):
    result = kernel.execute("import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show(); print('after')")
    assert result.status == "ok" and len(result.images) == 1 and result.stdout == b"after\n", result
    assert result.images[0].startswith(PNG) and result.stderr == b"", result
    check_size(result.images[0])
    assert kernel.execute("print('no plot here')").displays == []
    result = kernel.execute("plt.figure(); plt.plot([3])")
    assert len(result.images) == 1 and result.kind == "repr"
    assert kernel.execute("plt.get_fignums()").output == []


def test_several_in_order(kernel):
    kernel.execute("import matplotlib.pyplot as plt\nclass P:\n    def _repr_html_(self): return 'page'")
    result = kernel.execute(
        "plt.figure(figsize=(2, 2)); plt.plot([1]); plt.show()\ndisplay(P())\n"
        "plt.figure(figsize=(8, 2)); plt.plot([1])\nplt.figure(figsize=(4, 4)); plt.plot([1])\nP()"
    )
    kinds = [next(mime for mime in ("image/png", "text/html") if mime in parts) for parts in result.displays]
    assert kinds == ["image/png", "text/html", "text/html", "image/png", "image/png"], kinds
    widths = [int.from_bytes(png[16:20], "big") for png in result.images]
    assert widths[0] < widths[2] < widths[1], widths


def test_first_import_and_show_in_one_cell(kernel):
    result = kernel.execute("from pylab import *\nplot([1, 2]); show(); print(get_fignums())")
    assert len(result.images) == 1 and result.stdout == b"[]\n" and result.stderr == b"", result
    code = "import matplotlib.pyplot as p, sys\n[type(x).__name__ for x in (p.__loader__, p.__spec__.loader, *sys.meta_path)]"
    names = kernel.execute(code).output
    assert names[:2] == ["SourceFileLoader"] * 2 and "_Waiting" not in names, names


def test_preloaded_pyplot(kernel):
    with Kernel(before="import matplotlib.pyplot, pandas, numpy.random") as other:
        result = other.execute("import matplotlib.pyplot as plt\nplt.plot([1]); plt.show(); plt.get_fignums()")
        assert len(result.images) == 1 and result.output == [] and result.stderr == b""


def test_figures_and_errors(kernel):
    kernel.execute("import matplotlib.pyplot as plt")
    result = kernel.execute("plt.plot([1]); plt.show()\nraise RuntimeError('late')")
    assert result.error.endswith("RuntimeError: late") and len(result.images) == 1
    result = kernel.execute("plt.plot([1])\nraise RuntimeError('late')")
    assert result.status == "error" and len(result.images) == 1
    result = kernel.execute("plt.plot([1]); plt.title('$\\\\bad{$')\n5")
    assert (result.status, result.output, result.images) == ("ok", 5, []), result
    assert b"drawing a figure failed" in result.stderr
    assert kernel.execute("len(plt.get_fignums())").output == 0
    result = kernel.execute("import sys\nplt.plot([1])\nsys.exit(2)")
    assert result.exit_code == 2 and len(result.images) == 1


def test_a_figure_as_value(kernel):
    kernel.execute("import matplotlib.pyplot as plt\nfrom matplotlib.figure import Figure")
    result = kernel.execute("fig, ax = plt.subplots(); ax.plot([1])\nfig")
    assert len(result.displays) == 1 and result.output.startswith("<Figure size")
    result = kernel.execute("fig, ax = plt.subplots(); ax.plot([1])\ndisplay(fig)\ndisplay(fig)")
    assert len(result.images) == 2, len(result.images)
    result = kernel.execute("fig")
    assert len(result.images) == 1, "a closed figure can be shown again"
    result = kernel.execute("f = Figure(); f.subplots().plot([1])\nf")
    assert len(result.images) == 1
    assert kernel.execute("plt.figure()").images == [], "an empty figure is no picture"


def test_many_figures(kernel):
    kernel.execute("import matplotlib.pyplot as plt")
    result = kernel.execute("import warnings; warnings.simplefilter('ignore')\nfor _ in range(25): plt.figure(figsize=(1, 1)); plt.plot([1])")
    assert len(result.images) == 25
    for _ in range(5):
        assert len(kernel.execute("plt.plot([1])").images) == 1


def test_libraries_that_draw(kernel):
    result = kernel.execute("import pandas as pd\npd.DataFrame({'a': [1, 2]}).plot()")
    assert len(result.images) == 1
    result = kernel.execute("import seaborn as sns\nsns.histplot([1, 2, 2])")
    assert len(result.images) == 1


def test_an_interrupted_cell_draws_nothing_and_leaves_nothing(kernel):
    kernel.execute("import matplotlib.pyplot as plt, time")
    number = kernel.start("plt.plot([1]); print('begun')\ntime.sleep(1000)")
    kernel.wait_for_output(b"begun\n")
    kernel.interrupt()
    result = kernel.wait(number)
    assert result.images == [] and result.error.endswith("KeyboardInterrupt")
    assert kernel.execute("plt.get_fignums()").output == []


def table(result):
    return json.loads(result.displays[0][TABLE])


def test_frames(kernel):
    kernel.execute("import pandas as pd, numpy as np, datetime")
    result = kernel.execute(
        "df = pd.DataFrame({'i': [1, 2], 'f': [0.5, np.nan], 's': ['a', None], 'b': [True, False],"
        " 't': pd.to_datetime(['2020-01-02', None]), 'o': [[1], {'k': 1}], 'inf': [np.inf, 1.0],"
        " 'big': [2**70, 1], 'c': pd.Categorical(['x', 'y'])}, index=['r1', 'r2'])\ndf"
    )
    assert result.kind == "repr" and "r1" in result.output
    assert "<table" in result.displays[0]["text/html"].decode()
    data = table(result)
    assert data == {
        "columns": ["i", "f", "s", "b", "t", "o", "inf", "big", "c"],
        "types": ["int64", "float64", "object", "bool", "datetime64[ns]", "object", "float64", "object", "category"],
        "shape": [2, 9],
        "index": ["r1", "r2"],
        "rows": [
            [1, 0.5, "a", True, "2020-01-02 00:00:00", "[1]", "inf", str(2**70), "x"],
            [2, None, None, False, None, "{'k': 1}", 1.0, 1, "y"],
        ],
    }, data


def test_odd_frames(kernel):
    kernel.execute("import pandas as pd, numpy as np")
    data = table(kernel.execute("pd.DataFrame(np.zeros((1000, 3)))"))
    assert data["shape"] == [1000, 3] and len(data["rows"]) == 50 and data["columns"] == [0, 1, 2]
    data = table(kernel.execute("pd.DataFrame(np.zeros((10, 5000)))"))
    assert data["shape"] == [10, 5000] and len(data["columns"]) == 100
    data = table(kernel.execute("pd.DataFrame({'s': ['x' * 10**6] * 100})"))
    assert len(data["rows"][0][0]) < 1000
    data = table(kernel.execute("pd.DataFrame([[1, 2]], columns=['a', 'a'])"))
    assert data["columns"] == ["a", "a"] and data["rows"] == [[1, 2]]
    data = table(kernel.execute("pd.DataFrame({('a', 1): [1]}, index=pd.MultiIndex.from_tuples([('p', 'q')]))"))
    assert data["columns"] == ["a, 1"] and data["index"] == ["p, q"]
    assert table(kernel.execute("pd.DataFrame()"))["shape"] == [0, 0]
    assert table(kernel.execute("pd.DataFrame({'\\ud800': ['\\udead']})"))["rows"] == [["?"]]
    assert table(kernel.execute("display(pd.DataFrame({'a': [1]}))"))["rows"] == [[1]]
    code = "class Bad:\n    def __str__(self): 1/0\n    __repr__ = __str__\nd = pd.DataFrame({'a': [Bad()]})\ndisplay(d)\n4"
    assert kernel.execute(code).output == 4


def test_other_values(kernel):
    kernel.execute("import numpy as np, pandas as pd")
    result = kernel.execute("np.arange(3)")
    assert (result.kind, result.output, result.displays) == ("repr", "array([0, 1, 2])", [])
    assert kernel.execute("np.arange(10**6)").output.endswith("999999])")
    assert kernel.execute("pd.Series([1, 2])").displays == []
    result = kernel.execute("import sympy\nsympy.sqrt(2) / 2")
    assert "sqrt" in result.displays[0]["text/latex"].decode()
    result = kernel.execute("from PIL import Image\nImage.new('RGB', (2, 3))")
    assert result.images[0].startswith(PNG)
    kernel.execute("arr = np.zeros((3, 4)); s = pd.Series([1.5]); f = pd.DataFrame({'a': [1]}); n = np.float64(2)")
    rows = {row["name"]: row for row in kernel.ask("inspect")[0]["names"]}
    assert rows["arr"]["repr"] == "array of 3 x 4, float64" and rows["arr"]["size"] == 96
    assert rows["f"]["repr"] == "table of 1 x 1: a" and rows["s"]["repr"] == "column of 1, float64"
    assert rows["n"]["repr"] in ("2.0", "np.float64(2.0)"), rows["n"]


def test_handed_cases(kernel):
    found = cases.load({"05"})
    assert len(found) == 5
    for case in found:
        cases.run(case, "/tmp")


def main():
    failed = 0
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            begun = time.monotonic()
            try:
                with Kernel(cwd="/tmp") as kernel:
                    test(kernel)
            except BaseException:
                failed += 1
                print("FAILED", name, traceback.format_exc(), sep="\n")
            else:
                print("passed %s in %.1f s" % (name, time.monotonic() - begun))
    print("%d failed" % failed)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
