"""SOFSRegressor compared with batch and one-pass methods for numeric targets.

    python benchmarks/regression.py [--write] [--sets "x1, noise 1" ...]

R2 on test rows, mean and deviation over splits (X1 3, covtype 6, 20news 5, diabetes 10); in
parentheses how many of the features that make the target were found.

- x1, noise s: 20,000 rows of the synthetic set X1 (Wu, Hoi, Mei, Yu 2017), target = the hidden
  weights times the 100 informative features + s times as much noise. 10,000 test rows of another
  seed. No method can do better than 1 / (1 + s^2).
- covtype: the elevation from the other 53 columns. A fifth of the rows to test on.
- 20news rec/sci: the two groups as 0 and 1. 30 % of the rows to test on.
- diabetes: scikit-learn's 442 rows with 1,000 columns of noise, three epochs. A quarter of the rows
  to test on.

SOFSRegressor and AROWRegressor, which has all features, get the rows as they are and no other
parameter. The others get columns standardised by all training rows (covtype, diabetes) or rows of
length 1 (20news; X1 is as it is):

- Lasso: the weakest penalty, by a path and bisection, that leaves at most k features, and least
  squares on these.
- F + ridge: the k best columns by themselves, then a ridge regression on them, alpha 1.
- SGD: one pass (diabetes: three) of SGDRegressor with an L1 penalty over the standardised target;
  of its weights the k largest as they are. Its penalty and first step are the best of 25 on the
  last fifth of the training rows, for which no time is counted.
- true features: least squares on the informative ones alone.

The last table: R2 when the target is multiplied by 10^6, or 10^4 deviations are added to it; with
``loss="huber"``; and when 1 % of the training targets are off by 20 deviations. ``--write`` puts
all into docs/methods/sofs-regressor.md.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import f_regression
from sklearn.linear_model import Lasso, LinearRegression, Ridge, SGDRegressor
from sklearn.metrics import r2_score
from sklearn.preprocessing import Normalizer, StandardScaler

import streamsieve as ss
from report import load, machine, parser, table, write_section
from streamsieve.sources.synthetic import SyntheticSource

PAGE = Path(__file__).parents[1] / "docs" / "methods" / "sofs-regressor.md"
STEPS, PENALTIES = (
    (0.01, 0.03, 0.1, 0.3, 1.0),
    (1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
)  # of SGD, steps over mean |x|^2
PATH, HALVINGS = (
    0.8,
    6,
)  # every penalty of Lasso's path is that much of the one before; then of the last step

Targets = NDArray[np.float64]


class Split(NamedTuple):
    """Rows to learn from and rows to test on."""

    X: Any
    y: Targets
    X_test: Any
    y_test: Targets

    def with_targets(self, y: Targets, y_test: Targets) -> Split:
        return self._replace(y=y, y_test=y_test)


class Problem(NamedTuple):
    k: int
    splits: int
    make: Callable[[Path, int], Split]
    scaler: Callable[[], Any] | None  # for the methods that do not scale by themselves
    epochs: int = 1
    informative: int | None = None  # the first so many features


class Fitted(NamedTuple):
    predict: Callable[[Any], Targets]  # of rows as the method got them
    kept: NDArray[np.int64]


def x1(noise: float) -> Callable[[Path, int], Split]:
    def make(_: Path, seed: int) -> Split:
        random = np.random.default_rng(seed)
        sources = (
            SyntheticSource("x1", 20_000, seed=2 * seed),
            SyntheticSource("x1", 10_000, seed=2 * seed + 1),
        )
        X, X_test = map(matrix_of, sources)
        weights = sources[0].hidden_weights
        signal, test_signal = (rows[:, : weights.size] @ weights for rows in (X, X_test))
        error = noise * signal.std()
        y, y_test = (
            part + error * random.standard_normal(part.size) for part in (signal, test_signal)
        )
        return Split(X, y, X_test, y_test)

    return make


def matrix_of(source: SyntheticSource) -> Any:
    width = source.n_features
    parts = [
        csr_array((block.values, block.indices, block.indptr), shape=(block.n_rows, width))
        for block in source.row_blocks()
    ]
    rows = vstack(parts, format="csr")
    rows.indices, rows.indptr = (
        rows.indices.astype(np.int32),
        rows.indptr.astype(np.int32),
    )  # as scikit-learn asks
    return rows


def divided(X: Any, y: Targets, fraction: float, seed: int) -> Split:
    """Return the rows in random order, the first ``fraction`` of them to test on."""
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = np.split(order, [int(fraction * len(y))])
    return Split(X[train], y[train], X[test], y[test])


def covtype(folder: Path, seed: int) -> Split:
    dense = load(folder, "covtype")[0].toarray()
    return divided(dense[:, 1:], dense[:, 0], 0.2, seed)


def news(folder: Path, seed: int) -> Split:
    X, y = load(folder, "20news_rec_sci", 26_214)
    return divided(X, np.where(y > 0, 1.0, 0.0), 0.3, seed)


def diabetes(_: Path, seed: int) -> Split:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    noise = np.random.default_rng(seed).standard_normal((len(y), 1_000))
    return divided(np.hstack([X, noise]), y, 0.25, seed)


PROBLEMS = {
    **{
        f"x1, noise {noise}": Problem(100, 3, x1(noise), None, informative=100)
        for noise in (0, 0.5, 1, 3)
    },
    "covtype": Problem(10, 6, covtype, StandardScaler),
    "20news rec/sci": Problem(100, 5, news, Normalizer),
    "diabetes + noise": Problem(10, 10, diabetes, StandardScaler, epochs=3),
}


def sofs(split: Split, problem: Problem, **params: Any) -> Fitted:
    model = ss.SOFSRegressor(problem.k, n_epochs=problem.epochs, **params).fit(split.X, split.y)
    return Fitted(model.predict, model.selection().indices)


def arow(split: Split, problem: Problem) -> Fitted:
    model = ss.AROWRegressor(problem.k, n_epochs=problem.epochs).fit(split.X, split.y)
    return Fitted(model.predict, model.selection().indices)


def refitted(split: Split, kept: NDArray[np.int64], model: Any) -> Fitted:
    """Return a regression on some features."""
    model.fit(dense_part(split.X, kept), split.y)
    return Fitted(lambda X: model.predict(dense_part(X, kept)), kept)


def dense_part(X: Any, kept: NDArray[np.int64]) -> NDArray[np.float64]:
    part = X[:, kept]
    return part if isinstance(part, np.ndarray) else part.toarray()


def values_of(X: Any) -> NDArray[np.float64]:
    return X if isinstance(X, np.ndarray) else X.data


def lasso(split: Split, problem: Problem) -> Fitted:
    X, y = split.X if isinstance(split.X, np.ndarray) else split.X.tocsc(), split.y - split.y.mean()
    model = Lasso(warm_start=True, tol=1e-3, max_iter=10_000)

    def kept_with(alpha: float) -> NDArray[np.int64]:
        return np.flatnonzero(model.set_params(alpha=alpha).fit(X, y).coef_)

    strong = weak = float(np.abs(X.T @ y).max()) / len(y)
    kept = too_many = np.empty(0, np.int64)
    while too_many.size <= problem.k:
        kept, strong, weak = too_many, weak, weak * PATH
        too_many = kept_with(weak)
    for _ in range(HALVINGS):
        middle = (strong * weak) ** 0.5
        candidate = kept_with(middle)
        if candidate.size > problem.k:
            weak = middle
        else:
            kept, strong = candidate, middle
    return refitted(split, kept, LinearRegression())


def best_columns(split: Split, problem: Problem) -> Fitted:
    scores = np.nan_to_num(
        f_regression(split.X, split.y)[0]
    )  # a column that does not vary has none
    return refitted(
        split, np.sort(np.argsort(-scores, kind="stable")[: problem.k]), Ridge(alpha=1.0)
    )


def gradient(split: Split, problem: Problem, step: float, penalty: float) -> Fitted:
    mean, deviation = split.y.mean(), split.y.std()
    squares = float(np.sum(np.square(values_of(split.X)))) / len(split.y)
    model = SGDRegressor(
        penalty="l1",
        alpha=penalty,
        eta0=step / squares,
        max_iter=problem.epochs,
        tol=None,
        shuffle=False,
    )
    model.fit(split.X, (split.y - mean) / deviation)
    kept = np.argsort(-np.abs(model.coef_), kind="stable")[: problem.k]
    weights, intercept = model.coef_[kept], model.intercept_[0]
    return Fitted(lambda X: (dense_part(X, kept) @ weights + intercept) * deviation + mean, kept)


def tuned_gradient(split: Split, problem: Problem) -> dict[str, float]:
    """Return the step and penalty that are best on the last fifth of the training rows."""
    first = len(split.y) * 4 // 5
    inner = Split(split.X[:first], split.y[:first], split.X[first:], split.y[first:])
    tried = [{"step": step, "penalty": penalty} for step in STEPS for penalty in PENALTIES]
    return max(tried, key=lambda params: quality(gradient(inner, problem, **params), inner))


def true_features(split: Split, problem: Problem) -> Fitted:
    return refitted(split, np.arange(problem.informative or 0), LinearRegression())


def quality(fitted: Fitted, split: Split) -> float:
    predictions = fitted.predict(split.X_test)
    return r2_score(split.y_test, predictions) if np.isfinite(predictions).all() else -np.inf


METHODS: dict[str, Callable[..., Fitted]] = {
    "SOFSRegressor": sofs,
    "Lasso": lasso,
    "F + ridge": best_columns,
    "SGD": gradient,
    "AROWRegressor, all": arow,
    "true features": true_features,
}
RAW = (sofs, arow)  # scale rows by themselves
HEADER = ("set", "k", *METHODS)


class Figure(NamedTuple):
    r2: float
    found: int | None
    seconds: float


def measure(method: Callable[..., Fitted], split: Split, problem: Problem) -> Figure:
    if method not in RAW and problem.scaler is not None:
        scaler = problem.scaler().fit(split.X)
        split = split._replace(X=scaler.transform(split.X), X_test=scaler.transform(split.X_test))
    params = tuned_gradient(split, problem) if method is gradient else {}
    start = time.perf_counter()
    fitted = method(split, problem, **params)
    seconds = time.perf_counter() - start
    n_found = (
        None if problem.informative is None else int(np.sum(fitted.kept < problem.informative))
    )
    return Figure(quality(fitted, split), n_found, seconds)


# what is done to the target, and the loss; the test rows keep theirs but for its unit and origin
CHANGES = ("as it is", "x 10^6", "+ 10^4 sd", "huber", "outliers", "outliers, huber")


def changed(split: Split, problem: Problem) -> list[float]:
    """Return R2 for each of the changes."""
    deviation = split.y.std()
    random = np.random.default_rng(0)
    off = np.where(
        random.random(split.y.size) < 0.01, random.choice([-20.0, 20.0], split.y.size), 0.0
    )
    spoiled = split.with_targets(split.y + off * deviation, split.y_test)
    forms: list[tuple[Split, dict[str, Any]]] = [
        (split, {}),
        (split.with_targets(split.y * 1e6, split.y_test * 1e6), {}),
        (split.with_targets(split.y + 1e4 * deviation, split.y_test + 1e4 * deviation), {}),
        (split, {"loss": "huber"}),
        (spoiled, {}),
        (spoiled, {"loss": "huber"}),
    ]
    return [quality(sofs(part, problem, **params), part) for part, params in forms]


def cell(figures: list[Figure]) -> str:
    r2 = [figure.r2 for figure in figures]
    text = f"{np.mean(r2):.3f} ± {np.std(r2, ddof=1):.3f}"
    counts = [figure.found for figure in figures if figure.found is not None]
    return f"{text} ({np.mean(counts):.0f})" if counts else text


def measured(name: str, folder: Path) -> Iterator[list[str]]:
    """Return the lines of a set in the three tables."""
    problem = PROBLEMS[name]
    splits = [problem.make(folder, seed) for seed in range(problem.splits)]
    methods = [
        method for method in METHODS.values() if method is not true_features or problem.informative
    ]
    measure(sofs, splits[0], problem)  # compiles
    measure(arow, splits[0], problem)
    by_method = [[measure(method, split, problem) for split in splits] for method in methods]
    empty = [""] * (len(METHODS) - len(methods))
    yield [name, str(problem.k), *map(cell, by_method), *empty]
    yield [
        name,
        str(problem.k),
        *(f"{np.mean([f.seconds for f in of]):.2f}" for of in by_method),
        *empty,
    ]
    yield [
        name,
        *(f"{r2:.3f}" for r2 in np.mean([changed(split, problem) for split in splits], axis=0)),
    ]


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument(
        "--write", action="store_true", help="put the tables into docs/methods/sofs-regressor.md"
    )
    chosen = options.parse_args()
    if chosen.write and chosen.sets:
        options.error("--write takes all sets")
    warnings.simplefilter("ignore")
    tables: list[list[list[str]]] = [[], [], []]
    for name in chosen.sets or PROBLEMS:
        for lines, line in zip(tables, measured(name, chosen.data), strict=True):
            lines.append(line)
            print(*line, sep="  ", file=sys.stderr, flush=True)
    quality_lines, seconds, changes = tables
    text = (
        f"{table(HEADER, quality_lines)}\n\nSeconds to"
        f" learn:\n\n{table(HEADER, seconds)}\n\nSOFSRegressor with other"
        f" targets:\n\n{table(('set', *CHANGES), changes)}\n\n{machine('scikit-learn')}"
    )
    print(text)
    if chosen.write:
        write_section("regression", text, PAGE)


if __name__ == "__main__":
    main()
