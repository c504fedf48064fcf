"""Online substitution: Yang, Fujimaki, Kusumura, Liu (2016), the experiments of the paper (P2).

The paper is on a limited-memory algorithm and its parallel form.
"""

from __future__ import annotations

from ..experiment import Experiment
from .figures import figure_1, figure_2, harder
from .real import real_sets

PAPER = (
    "Yang, Fujimaki, Kusumura, Liu (2016), online feature selection: a limited-memory substitution"
    " algorithm and its asynchronous parallel variation"
)

OF_FIGURES = (
    (
        "the paper's plots cannot be read off exactly: all its curves are within the ranges of the"
        ' axes that are given; its OS, which scans twice, is "OS paper, 2 scans" here, and "OS'
        " pool\" is streamsieve's default, not the paper's"
    ),
    "the number of features p: the ends and the middle of what the paper draws, which has nine",
    (
        "columns are standardised and the model has an intercept; the paper has neither, and its"
        " columns need neither"
    ),
    "the paper does not give its steps: here 0.5, its best for uncorrelated columns (theorem 1)",
)
OF_REAL = (
    (
        "not of the paper: its figure 4 is of images that are not to be had, so the same question"
        " is put to five public sets, with streamsieve's default, batch methods and SAOLA (Yu, Wu,"
        " Ding, Pei 2016) beside it"
    ),
    (
        "colon and leukemia: five folds, three times; dexter and arcene: their own test rows,"
        " columns in three orders; basehock: 1,500 rows at random, three times"
    ),
    (
        "OS and ProjGD have the logistic loss; a method whose steps diverge predicts the larger"
        " class; correlation and SAOLA have no model of their own, and logistic regression in both"
        " tables"
    ),
)

EXPERIMENTS = [
    Experiment(
        "P2.fig1",
        "numbers: recall and recovery error against features, scans and workers",
        PAPER,
        (),
        15,
        figure_1,
        (
            (
                'the noise: the paper\'s "variance 0.1^2" does not give its plots, every method'
                " finds nearly all then (see P2.harder); a standard deviation of 3, a tenth of the"
                " signal's variance, comes near them in recall"
            ),
            *OF_FIGURES,
        ),
    ),
    Experiment(
        "P2.fig2",
        "classes: recall and classification error against features, scans and workers",
        PAPER,
        (),
        30,
        figure_2,
        (
            "by the paper's rule fewer features are found than its plots show; why is not known",
            *OF_FIGURES,
        ),
    ),
    Experiment(
        "P2.harder",
        "recall on figure 1's problems with other noise, fewer rows, and columns that are not"
        " independent or equal",
        PAPER,
        (),
        8,
        harder,
        (
            (
                "not of the paper: it shows what noise does, and where the paper's fixed step fails"
                " (columns that correlate: the weights diverge, and nothing is found)"
            ),
        ),
    ),
    Experiment(
        "P2.real",
        "accuracy on real sets with 10, 50 and 100 features",
        PAPER,
        (
            "colon",
            "leukemia",
            "dexter.train",
            "dexter.valid",
            "arcene.train",
            "arcene.valid",
            "basehock",
        ),
        10,
        real_sets,
        OF_REAL,
        quick_data=("basehock.train", "basehock.test"),
    ),
]
MISSING = {
    "P2.fig3": (
        "six machines for up to ten workers by MPI; benchmarks/asyos_engines.py times AsyOS on one"
        " machine"
    ),
    "P2.fig4": (
        "privacy images of Tran, Kong, Jin, Liu (2016): 6,914 images, 7,488 features; P2.real has"
        " public sets"
    ),
}
