# "cells" is what the call before left behind.
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = cells.drop(columns="diagnosis"), cells["diagnosis"]
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
scores = cross_val_score(model, X, y, cv=5)
print("accuracy of five folds:", *scores.round(3))

X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model.fit(X_train, y_train)
{
    "mean": round(float(scores.mean()), 3),
    "held out": round(float(model.score(X_test, y_test)), 3),
}
