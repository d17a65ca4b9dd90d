"""A notebook's cells, run one by one, with everything they show in one page.

    python notebook.py report.html

In Jupyter the results show themselves: they have a `_repr_html_`. What a cell displays was
written by code that nobody has reviewed, so text and tables are rebuilt without anything that
runs or fetches, and pictures are embedded.
"""
import html
import sys
from pathlib import Path

import sandcell

CELLS = [
    "import numpy as np, pandas as pd, matplotlib.pyplot as plt\n"
    "rng = np.random.default_rng(1)\n"
    "walks = pd.DataFrame(rng.normal(size=(250, 3)).cumsum(axis=0), columns=['a', 'b', 'c'])\n"
    "walks.describe().round(2)",
    "figure, axes = plt.subplots(figsize=(7, 3))\n"
    "walks.plot(ax=axes)\n"
    "axes.set_title('three random walks');",
    "plt.hist(walks['a'], bins=30); plt.title('where the first one was')",
    "print('the farthest was', walks.abs().max().idxmax())",
    "walks['d']",
]
PAGE = "<!doctype html><meta charset=utf-8><title>notebook</title><body>{}</body>\n"


def main():
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "report.html")
    parts = []
    with sandcell.Session("sandcell/datasci", preload=["pandas", "matplotlib"]) as session:
        for number, code in enumerate(CELLS, 1):
            result = session.execute(code, timeout=60)
            parts.append(f"<pre>In [{number}]: {html.escape(code)}</pre>{result._repr_html_()}")
            print(f"[{number}] {result.status}, {len(result.figures)} figures, "
                  f"{result.duration:.2f} s")
            if number == 1:
                print("    its table has", session.execute("walks.shape").output, "values")
    target.write_text(PAGE.format("".join(parts)), encoding="utf-8")
    print("written to", target)


if __name__ == "__main__":
    main()
