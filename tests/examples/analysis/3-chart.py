# "cells", "model" and the held-out samples are what the calls before left behind.
import matplotlib.pyplot as plt
import seaborn as sns
from sklearn.metrics import RocCurveDisplay

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5))
sns.scatterplot(cells, x="mean radius", y="mean texture", hue="diagnosis", s=20, ax=left)
left.set_title("What was measured")
RocCurveDisplay.from_estimator(model, X_test, y_test, name="logistic regression", ax=right)
right.plot([0, 1], [0, 1], "--", color="grey")
right.set_title("How well the two are told apart")
figure.tight_layout()
figure.savefig("/workspace/chart.png", dpi=100)
print("the chart is in /workspace/chart.png")
