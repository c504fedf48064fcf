"""The programs that ``peers.py`` compares: reading, learning, and the resulting weights.

Functions here run in a process of their own and import what they need only then, so that the peak
memory is that of the program measured.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

STEPS = 14  # halvings of the range of penalties
NEAR = 1.02  # times the number of features wanted: near enough
WEAKER = (0.5, 1.0)  # powers of 10 by which the penalty is also made weaker than that
CONSTANT = 11650396  # where Vowpal Wabbit keeps its intercept, modulo the size of its table


class Problem(NamedTuple):
    """A data set as files: svmlight text to learn from, its first rows, text to test on.

    The rows to learn from, and the first of them, are also there in Vowpal Wabbit's format,
    ``.vw``.
    """

    name: str
    train: Path
    test: Path
    head: Path
    features: int
    k: int
    informative: int | None  # the first so many features, where that is known


class Result(NamedTuple):
    seconds: float
    reading: float | None  # of these, where reading is apart from learning
    peak: int
    kept: NDArray[np.int64]
    accuracy: float
    nonzero: int | None = None  # weights before all but the k largest were cut


class Model(NamedTuple):
    """The k largest weights, the others set to 0."""

    weights: NDArray[np.float64]
    intercept: float
    nonzero: int  # before the cut

    def accuracy(self, X: Any, y: Any) -> float:
        return float(np.mean((X @ self.weights[: X.shape[1]] + self.intercept > 0) == (y > 0)))


class ScikitLearn:
    """``load_svmlight_file`` and ``SGDClassifier``, hinge loss, L1 penalty."""

    package = "scikit-learn"
    penalties = (-7.0, 1.0)  # powers of 10

    def __init__(self, name: str, **params: Any) -> None:
        self.name = self.solver = name
        self.params = params

    def read(self, path: Path) -> Any:
        return read_with_scikit_learn(path)

    def fit(self, data: Any, penalty: float) -> Any:
        from sklearn.linear_model import SGDClassifier

        model = SGDClassifier(
            loss="hinge", penalty="l1", alpha=penalty, random_state=0, **self.params
        )
        return model.fit(*data)

    def weights(self, model: Any) -> tuple[NDArray[np.float64], float]:
        return model.coef_[0], model.intercept_[0]


class Liblinear:
    """L1-regularised L2-loss support vector classification, ``-s 5``; the penalty is 1 / C."""

    package = "liblinear-official"
    solver = "LIBLINEAR"
    penalties = (-3.0, 6.0)

    def __init__(self, name: str, own_reader: bool) -> None:
        self.name = name
        self.own_reader = own_reader

    def read(self, path: Path) -> Any:
        if not self.own_reader:
            return read_with_scikit_learn(path)
        from liblinear.liblinearutil import svm_read_problem

        y, X = svm_read_problem(str(path), return_scipy=True)
        return X, y

    def fit(self, data: Any, penalty: float) -> Any:
        from liblinear.liblinearutil import train

        X, y = data
        return train(y, X, f"-s 5 -c {1 / penalty!r} -B 1 -q")

    def weights(self, model: Any) -> tuple[NDArray[np.float64], float]:
        weights, intercept = model.get_decfun()
        sign = model.get_labels()[0]  # the weights speak for the label of the first row
        return sign * np.array(weights), sign * intercept


class VowpalWabbit:
    """One pass by the program's own driver over a file in its own format.

    Reading and learning are one step.
    """

    package = "vowpalwabbit"

    def __init__(self, name: str, options: str, penalties: tuple[float, float]) -> None:
        self.name = self.solver = name
        self.options = options
        self.penalties = penalties

    def read(self, path: Path) -> Any:
        return path.with_suffix(".vw")

    def fit(self, data: Any, penalty: float) -> Any:
        from vowpalwabbit import Workspace

        handle, name = tempfile.mkstemp(suffix=".vw-model")
        os.close(handle)
        options = f"-b 18 --loss_function hinge --l1 {penalty!r} {self.options}"
        return Workspace(f"--quiet -d {data} {options} --readable_model {name}"), Path(name)

    def weights(self, model: Any) -> tuple[NDArray[np.float64], float]:
        """Return the weights from the readable model.

        These are raw weights, and the factor by which the lazily applied penalty has shrunk them.
        """
        workspace, path = model
        workspace.finish()
        raw = np.zeros(1 << 18)
        shrunk = 0.0
        for line in path.read_text().splitlines():
            key, _, value = line.partition(":")
            if line.startswith("l1_state "):
                shrunk = float(line.split()[1])
            elif key.isdigit():
                raw[int(key)] = float(value.split()[0])
        path.unlink()
        weights = np.sign(raw) * np.maximum(0.0, np.abs(raw) - shrunk)
        position = CONSTANT % weights.size
        intercept, weights[position] = weights[position], 0.0
        return weights[1:], float(intercept)


Peer = ScikitLearn | Liblinear | VowpalWabbit

PEERS: tuple[Peer, ...] = (
    ScikitLearn("scikit-learn SGD, one pass", max_iter=1, tol=None),
    ScikitLearn("scikit-learn SGD, until it converges"),
    VowpalWabbit("Vowpal Wabbit, one pass", "", (-9.0, -1.0)),
    VowpalWabbit("Vowpal Wabbit FTRL, one pass", "--ftrl", (-4.0, 4.0)),
    Liblinear("LIBLINEAR, scikit-learn's reader", own_reader=False),
    Liblinear("LIBLINEAR, its own reader", own_reader=True),
)

STREAMSIEVE: dict[str, dict[str, Any]] = {
    "streamsieve SOFS snr": {"method": "sofs", "criterion": "snr"},
    "streamsieve SOFS confidence": {"method": "sofs", "criterion": "confidence"},
    "streamsieve FOFS": {"method": "fofs"},
}


def read_with_scikit_learn(path: Path, n_features: int | None = None) -> Any:
    """Return rows and labels, with 32-bit ids.

    SGDClassifier refuses the 64-bit ids that the reader gives.
    """
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), n_features=n_features)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def cut(weights: NDArray[np.float64], intercept: float, problem: Problem) -> Model:
    largest = np.argsort(-np.abs(weights), kind="stable")[: problem.k]
    kept = np.zeros(problem.features)
    kept[largest] = weights[largest]
    return Model(kept, intercept, int(np.count_nonzero(weights)))


def tune(peer: Peer, problem: Problem) -> tuple[float, float]:
    """Return a penalty, and the test accuracy with another.

    By bisection the penalty with the fewest non-zero weights of those that leave no fewer than k.
    Of all that were tried on the way, and of weaker ones, the one whose k largest weights do best
    on the training rows gives the accuracy.
    """
    data = peer.read(problem.train)
    rows = read_with_scikit_learn(problem.train) if isinstance(data, Path) else data
    tried: dict[float, Model] = {}

    def try_power(power: float) -> int:
        tried[power] = cut(*peer.weights(peer.fit(data, 10.0**power)), problem)
        return tried[power].nonzero

    low, high = peer.penalties
    for _ in range(STEPS):
        middle = (low + high) / 2
        count = try_power(middle)
        if problem.k <= count <= NEAR * problem.k:
            break
        low, high = (low, middle) if count < problem.k else (middle, high)
    near = min(
        tried,
        key=lambda power: (tried[power].nonzero < problem.k, abs(tried[power].nonzero - problem.k)),
    )
    for less in WEAKER:
        try_power(near - less)
    best = max(tried.values(), key=lambda model: model.accuracy(*rows))
    return 10.0**near, best.accuracy(*read_with_scikit_learn(problem.test, problem.features))


def measure_peer(peer: Peer, problem: Problem, penalty: float) -> Result:
    from streamsieve.machine import peak_memory

    peer.weights(peer.fit(peer.read(problem.head), penalty))
    start = time.perf_counter()
    data = peer.read(problem.train)
    read = time.perf_counter()
    fitted = peer.fit(data, penalty)
    end = time.perf_counter()
    peak = peak_memory()
    model = cut(*peer.weights(fitted), problem)
    accuracy = model.accuracy(*read_with_scikit_learn(problem.test, problem.features))
    reading = None if isinstance(data, Path) else read - start
    return Result(
        end - start, reading, peak, np.flatnonzero(model.weights), accuracy, model.nonzero
    )


def measure_streamsieve(params: dict[str, Any], problem: Problem) -> Result:
    import streamsieve as ss
    from streamsieve.machine import peak_memory
    from streamsieve.workflow import measure, predictions

    ss.select(problem.head, n_features_to_select=problem.k, **params)
    start = time.perf_counter()
    record = ss.select(problem.train, n_features_to_select=problem.k, **params)
    seconds = time.perf_counter() - start
    peak = peak_memory()
    rows = predictions(record.selector.learner, ss.open_source(problem.test))
    quality = measure(rows, rows.classes)
    assert quality is not None
    return Result(seconds, record.seconds["read"], peak, record.selection.indices, quality.accuracy)


def first_use(head: Path) -> float:
    """Return the seconds of a run over a few rows with no kernel compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        import streamsieve as ss

        start = time.perf_counter()
        ss.select(head, n_features_to_select=10)
        return time.perf_counter() - start
