"""Measures the real trainings of bench/search_problems.py: each point of a grid, into bench/tables/.

usage: build/bench-venv/bin/python bench/search_tables.py NAME...     (minutes; needs scikit-learn)
"""

import csv
import itertools
import sys
import warnings

import numpy
from sklearn import datasets, ensemble, metrics, model_selection, neural_network, pipeline, preprocessing, svm

from search_problems import TABLES


def scaled(model):
    return pipeline.make_pipeline(preprocessing.StandardScaler(), model)


def loss(model, data, scoring):
    """What a third of the data says of a model that learned from the others, as something to make small."""
    learn, judge, learn_target, judge_target = model_selection.train_test_split(*data, test_size=1 / 3, random_state=0)
    return -metrics.get_scorer(scoring)(model.fit(learn, learn_target), judge, judge_target)


def svm_digits(C, gamma, kernel, data=datasets.load_digits(return_X_y=True)):
    return loss(scaled(svm.SVC(C=C, gamma=gamma, kernel=kernel)), data, "accuracy")


def boosting_cancer(rate, depth, subsample, trees, data=datasets.load_breast_cancer(return_X_y=True)):
    model = ensemble.GradientBoostingClassifier(learning_rate=rate, max_depth=depth, subsample=subsample,
                                                n_estimators=trees, random_state=0)
    return loss(model, data, "neg_log_loss")


def network_diabetes(rate, decay, width, activation, data=datasets.load_diabetes(return_X_y=True)):
    features, target = data
    model = neural_network.MLPRegressor(hidden_layer_sizes=(width,), activation=activation, learning_rate_init=rate, alpha=decay,
                                        max_iter=60, random_state=0)
    return loss(scaled(model), (features, (target - target.mean()) / target.std()), "r2")


GRIDS = {
    "svm-digits": (svm_digits, {
        "C": numpy.logspace(-2, 3, 8), "gamma": numpy.logspace(-5, 0, 9), "kernel": ["rbf", "poly", "sigmoid"]}),
    "boosting-cancer": (boosting_cancer, {
        "rate": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0], "depth": [1, 2, 3, 5, 8], "subsample": [0.2, 0.5, 0.8, 1.0],
        "trees": [5, 20, 60, 200]}),
    "network-diabetes": (network_diabetes, {
        "rate": [1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3], "decay": [1e-5, 1e-3, 0.1, 1.0, 10.0],
        "width": [4, 11, 32, 128], "activation": ["relu", "tanh", "logistic"]}),
}


def main():
    warnings.filterwarnings("ignore")
    for name in sys.argv[1:] or GRIDS:
        measure, grid = GRIDS[name]
        with open(TABLES / f"{name}.csv", "w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow([*grid, "loss"])
            for values in itertools.product(*grid.values()):
                cells = [value if isinstance(value, (str, int)) else f"{value:.4g}" for value in values]
                out.writerow([*cells, f"{measure(**dict(zip(grid, values))):.5f}"])
        print(name, flush=True)


if __name__ == "__main__":
    main()
