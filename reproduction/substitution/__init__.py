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
        "the paper's plots cannot be read off exactly: the table gives the ranges of the axes,"
        " and all curves are within them. The paper's OS scans twice; here it is \"OS paper, 2"
        ' scans". "OS pool" is streamsieve\'s default, which the paper does not have'
    ),
    "the paper draws nine numbers of features p; here are the smallest, the middle and the largest",
    (
        "columns are standardised and the model has an intercept; the paper has neither, and its"
        " columns need neither"
    ),
    (
        "the paper does not state its steps; here they are 0.5, by theorem 1 the best for"
        " uncorrelated columns"
    ),
)
OF_REAL = (
    (
        "this is not in the paper. The images of its figure 4 are not available, so the same"
        " question is asked of five public sets. streamsieve's default, batch methods and SAOLA"
        " (Yu, Wu, Ding, Pei 2016) are added"
    ),
    (
        "colon and leukemia: five folds, three times; dexter and arcene: their own test rows,"
        " columns in three orders; basehock: 1,500 rows at random, three times"
    ),
    (
        "OS and ProjGD use the logistic loss. A method whose steps diverge predicts the majority"
        " class. Correlation and SAOLA have no model of their own; both tables use a logistic"
        " regression for them"
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
                'the noise: with the paper\'s "variance 0.1^2" every method finds nearly all'
                " features (see P2.harder), unlike in its plots. Here its standard deviation is"
                " 3, a tenth of the signal's variance, and recall is near the plots"
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
            "the paper's rule finds fewer features here than in its plots; the reason is not known",
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
                "this is not in the paper. It shows what noise does, and where the paper's fixed"
                " step fails: if columns correlate, the weights diverge and nothing is found"
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
