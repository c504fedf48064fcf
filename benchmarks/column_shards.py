"""The cost of column shards: how much of a selection stays the same, and its quality.

    python benchmarks/column_shards.py [--splits N] [--sets leukemia ...]

SAOLA (Yu, Wu, Ding, Pei 2016) and online substitution (Yang, Fujimaki, Kusumura, Liu 2016), in one
stream and on workers that select from columns of their own. Both depend on the order of columns, so
the one stream is also run with the columns in a random order: how much of it is the same then is
what there is to compare with. Features are selected from 70 % of the rows; a logistic regression of
the selected, standardised columns is tested on the others. A run without ``--sets`` writes its
section of docs/explanation/performance.md.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from report import load, machine, parser, table, write_section
from streamsieve.distributed.columns import train_column_shards
from streamsieve.distributed.local import ThreadEngine
from streamsieve.registry import find_method
from streamsieve.sources.arrays import ArraySource
from streamsieve.training import train

SETS = (
    "leukemia",
    "colon",
    "arcene.train",
    "dexter.train",
    "madelon.train",
    "relathe",
    "pcmac_asu",
    "a8a",
)
WORKERS = (2, 4, 8)
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "SAOLA": ("saola", {}),
    "SAOLA, by uncertainty": ("saola", {"measure": "su", "bins": 3}),
    "online substitution": ("online-substitution", {"n_features_to_select": 20}),
}
NOTES = """
Means over {splits} splits of the rows. `same`: features that both selections have, of those that
one of them has (Jaccard); `other order` is the one stream with the columns in a random order.
Accuracy in %, on rows that nothing was selected from.
"""

Ids = NDArray[np.int64]


class Line(NamedTuple):
    """One split: overlaps with another order and with workers, and the accuracies."""

    kept: int
    same: list[float]
    accuracies: list[float]  # of the one stream first


def selected(name: str, X: Any, y: NDArray[Any], workers: int | None = None) -> Ids:
    """Return the features selected in one stream, or by workers."""
    method, params = METHODS[name]
    learner = find_method(method).make(**params)
    if workers is None:
        train(learner, ArraySource(X, y))
    else:
        with ThreadEngine(workers) as engine:
            train_column_shards(learner, ArraySource(X, y), engine)
    return learner.results.selection().indices


def same(first: Ids, second: Ids) -> float:
    both = np.intersect1d(first, second).size
    return both / max(1, first.size + second.size - both)


def measure(name: str, X: Any, y: NDArray[Any], seed: int) -> Line:
    learned, tested, y_learned, y_tested = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=y
    )
    learned, tested = learned.tocsc(), tested.tocsc()

    def accuracy(ids: Ids) -> float:
        if not ids.size:
            return float(max(np.mean(y_tested == label) for label in np.unique(y)))
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model.fit(learned[:, ids].toarray(), y_learned)
        return float(model.score(tested[:, ids].toarray(), y_tested))

    stream_selection = selected(name, learned, y_learned)
    order = np.random.default_rng(seed).permutation(X.shape[1])
    reordered = order[selected(name, learned[:, order], y_learned)]
    selections = [reordered, *(selected(name, learned, y_learned, workers) for workers in WORKERS)]
    return Line(
        stream_selection.size,
        [same(stream_selection, ids) for ids in selections],
        [accuracy(ids) for ids in (stream_selection, *selections)],
    )


def row_of(title: str, lines: list[Line]) -> list[str]:
    agreement = np.mean([line.same for line in lines], axis=0)
    quality = 100 * np.mean([line.accuracies for line in lines], axis=0)
    kept = f"{np.mean([line.kept for line in lines]):.0f}"
    return [
        title,
        kept,
        *(f"{value:.2f}" for value in agreement),
        *(f"{value:.1f}" for value in quality),
    ]


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--splits", type=int, default=10)
    chosen = options.parse_args()
    warnings.simplefilter("ignore")  # of selections that are empty
    rows = []
    for set_name in chosen.sets or SETS:
        X, y = load(chosen.data, set_name)
        for name in METHODS:
            lines = [measure(name, X, y, seed) for seed in range(chosen.splits)]
            rows.append(row_of(f"{set_name.removesuffix('.train')}, {name}", lines))
            print(*rows[-1], sep="  ", flush=True)
    others = [f"{count} workers" for count in WORKERS]
    header = [
        "",
        "kept",
        "same: other order",
        *others,
        "accuracy: one stream",
        "other order",
        *others,
    ]
    text = "\n\n".join(
        [machine("scikit-learn"), table(header, rows), NOTES.format(splits=chosen.splits).strip()]
    )
    print(text)
    if not chosen.sets:
        write_section("column-shards", text)


if __name__ == "__main__":
    main()
