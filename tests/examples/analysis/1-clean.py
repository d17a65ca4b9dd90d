# The first line of this file is no header: it holds the number of samples, the number of
# measurements, and the names of the classes that the last column counts from 0.
import pandas as pd
from sklearn.datasets import load_breast_cancer

path = "/workspace/breast_cancer.csv"
classes = pd.read_csv(path, header=None, nrows=1).loc[0, 2:].tolist()
raw = pd.read_csv(path, header=None, skiprows=1)
raw.columns = [*load_breast_cancer().feature_names, "diagnosis"]

cells = raw.drop_duplicates().dropna()
# A nucleus has a size; a row that says otherwise was not measured.
cells = cells[(cells.filter(like="area") > 0).all(axis=1)]
cells["diagnosis"] = cells["diagnosis"].map(dict(enumerate(classes)))

print(f"{len(raw)} biopsies read, {len(cells)} kept, {cells.shape[1] - 1} measurements each")
print(cells.groupby("diagnosis")[["mean radius", "mean texture"]].mean().round(2))
cells["diagnosis"].value_counts().to_dict()
