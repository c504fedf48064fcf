"""Hold the result of a comparison: a table with a line per cell, and summaries of methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from ..display import MAX_IN_TABLE, html_table, printable
from ..errors import DataError, UsageError
from ..files import file_exists, replacing
from ..json_text import Count, Measure, finite, write_json
from ..machine import is_installed
from .cells import COLUMNS, Line
from .ranks import Friedman, average_ranks, cliques, friedman, nemenyi_critical_difference
from .stability import nogueira
from .store import REQUEST, read_request

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from ..report.figures import Figures

PARQUET, CSV, JSON = "comparison.parquet", "comparison.csv", "comparison.json"
ARROW_TYPES = {
    str: pa.string(),
    str | None: pa.string(),
    Count: pa.int64(),
    Count | None: pa.int64(),
    Measure: pa.float64(),
    list[Count] | None: pa.list_(pa.int64()),
}
SCHEMA = pa.schema({name: ARROW_TYPES[kind] for name, kind in COLUMNS.items()})
MEASURES_WITH_SPREAD = (
    "accuracy",
    "balanced_accuracy",
    "auc",
    "r2",
    "online_mistake_rate",
    "seconds",
    "learn_seconds",
)
LOWER_IS_BETTER = (
    "online_mistake_rate",
    "seconds",
    "learn_seconds",
    "compile_seconds",
    "peak_memory_bytes",
)
# measures by which methods can be ranked
MEASURES = *MEASURES_WITH_SPREAD, "compile_seconds", "peak_memory_bytes"
PERCENT = "accuracy", "balanced_accuracy", "online_mistake_rate"
MAX_NAME_LENGTH = 30  # of data, in a short text


class Ranks(NamedTuple):
    """The ranks of methods over data sets: 1 is the best. With one data set there is no test."""

    measure: str
    model: str
    average: dict[str, float]  # by method, the best first
    n_sets: int
    friedman: Friedman | None  # the test of whether the methods differ at all
    critical_difference: float | None  # of average ranks, by Nemenyi's test at 5%
    cliques: list[list[str]]  # groups of methods that do not differ significantly
    omitted: list[str]  # methods without a result on some of the data sets

    def to_dict(self) -> dict[str, Any]:
        """Return a plain dictionary that JSON can hold."""
        return self._asdict() | {
            "friedman": None if self.friedman is None else self.friedman._asdict()
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """The result of comparing methods on data sets, with several budgets, seeds and models.

    Each line of the table is a comparison cell: its request (``data``, ``method``, ``k``, ``seed``,
    ``fold``, ``model``), its quality, time and memory and, if the cell failed, the ``error``. ``k``
    is null if the method chose the number of features, ``fold`` is null if there were test rows.

    Attributes
    ----------
    table : pyarrow.Table
        The table, with a line per comparison cell.
    request : dict
        The request of the whole comparison: its data sets, methods, models and options.
    measure : str
        The default measure of methods: "accuracy" or, for numeric targets, "r2".

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> comparison = ss.compare((X, y), ["sofs", "f-test"], [1, 2], folds=2)
    >>> comparison.measure
    'accuracy'
    >>> comparison.best()[0]["k"]
    2
    >>> len(comparison.lines()) == comparison.table.num_rows
    True
    """

    table: pa.Table
    request: dict[str, Any]

    @classmethod
    def of(cls, lines: Iterable[Line], request: dict[str, Any]) -> Comparison:
        """Return a comparison with these lines; figures that are not finite become null."""
        return cls(pa.Table.from_pylist([finite(line) for line in lines], schema=SCHEMA), request)

    # ---- results

    @property
    def measure(self) -> str:
        """Return the default measure of methods: accuracy or, for numbers, R2."""
        return (
            "r2"
            if all(facts.get("kind") == "numbers" for facts in self.request["data"])
            else "accuracy"
        )

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas DataFrame; pandas must be installed."""
        if not is_installed("pandas"):
            raise ImportError(
                "to_pandas needs pandas, which is not installed: pip install pandas; table has the"
                " same data as an Arrow table"
            )
        frame: pandas.DataFrame = self.table.to_pandas()
        return frame

    def lines(self) -> list[Line]:
        """Return the lines of the table as dictionaries."""
        lines: list[Line] = self.table.to_pylist()
        return lines

    def summary(self) -> list[dict[str, Any]]:
        """Return a line for every data set, method, k and model, with means over seeds and folds.

        Standard deviations have the suffix ``_sd``. ``n`` lines succeeded and ``failed`` lines did
        not, with the first ``error``; memory is the maximum over all lines.
        """
        groups = group_lines(self.lines(), "data", "method", "k", "model")
        return [
            dict(zip(("data", "method", "k", "model"), key, strict=True)) | summarize(part)
            for key, part in groups
        ]

    def best(self, measure: str | None = None) -> list[dict[str, Any]]:
        """Return for every data set the line of ``summary`` with the best mean.

        Of lines with equal means it is the one with the fewest features.
        """
        measure = self._check_measure(measure)
        sign = 1.0 if measure in LOWER_IS_BETTER else -1.0
        measured = [line for line in self.summary() if line[measure] is not None]

        def order(line: dict[str, Any]) -> tuple[float, float]:
            return sign * line[measure], line["n_selected"]

        return [min(lines, key=order) for _, lines in group_lines(measured, "data")]

    def ranks(
        self, measure: str | None = None, *, k: int | None = None, model: str | None = None
    ) -> Ranks:
        """Return the ranks of the methods over the data sets, and the tests of Demšar (2006).

        These are Friedman's test and the critical difference. The score of a method on a data set
        is its mean over seeds and folds with ``k`` features or, without ``k``, the mean over all
        numbers of features; methods that choose the number themselves take part with that.
        ``model`` is by default the first model of the request.
        """
        measure = self._check_measure(measure)
        model = self.request["models"][0] if model is None else model
        means = self._means(measure, k, model)
        names = [name for name in self._names() if any(name in means[method] for method in means)]
        complete = {
            method: [part[name] for name in names]
            for method, part in means.items()
            if set(names) <= set(part)
        }
        omitted = [method for method in means if method not in complete]
        if len(complete) < 2 or not names:
            raise UsageError(
                f"ranks need two methods with {measure} on the same data sets, judged by {model!r}"
            )
        average = average_ranks(complete, higher_is_better=measure not in LOWER_IS_BETTER)
        average = dict(sorted(average.items(), key=lambda pair: pair[1]))
        if len(names) < 2:
            return Ranks(measure, model, average, len(names), None, None, [], omitted)
        difference = nemenyi_critical_difference(len(average), len(names))
        groups = cliques(average, difference)
        return Ranks(
            measure, model, average, len(names), friedman(complete), difference, groups, omitted
        )

    def _means(self, measure: str, k: int | None, model: str) -> dict[str, dict[str, float]]:
        """Return the mean of a measure, by method and data set."""
        means: dict[str, dict[str, float]] = {method: {} for method in self.request["methods"]}
        measured = [
            line for line in self.summary() if line["model"] == model and line[measure] is not None
        ]
        wanted = [line for line in measured if k is None or line["k"] in (k, None)]
        for (method, data), lines in group_lines(wanted, "method", "data"):
            means[method][data] = fmean(line[measure] for line in lines)
        return means

    def stability(self) -> list[dict[str, Any]]:
        """Return for every data set, method and k the stability over all seeds and folds.

        This is the measure of Nogueira, Sechidis and Brown 2018: 1 if the selections are the same,
        about 0 if they are random, with a confidence interval from ``low`` to ``high``.
        """
        widths = {facts["name"]: facts["features"] for facts in self.request["data"]}
        selected = [line for line in self.lines() if line["selected"] is not None]
        results = []
        for key, lines in group_lines(selected, "data", "method", "k"):
            by_seed_and_fold = {(line["seed"], line["fold"]): line["selected"] for line in lines}
            if len(by_seed_and_fold) > 1:
                result = dict(zip(("data", "method", "k"), key, strict=True)) | {
                    "n": len(by_seed_and_fold)
                }
                results.append(
                    result | nogueira(list(by_seed_and_fold.values()), widths[key[0]])._asdict()
                )
        return results

    def _check_measure(self, measure: str | None) -> str:
        if measure is not None and measure not in MEASURES:
            raise UsageError(f"unknown measure {measure!r}; the measures are {', '.join(MEASURES)}")
        return self.measure if measure is None else measure

    def _names(self) -> list[str]:
        return [facts["name"] for facts in self.request["data"]]

    # ---- files

    def to_dict(self) -> dict[str, Any]:
        """Return a plain dictionary that JSON can hold."""
        try:
            ranks = self.ranks().to_dict()
        except UsageError:  # a single method has no ranks
            ranks = None
        return {**self.request, "lines": self.lines(), "summary": self.summary(), "ranks": ranks}

    def save(self, folder: str | Path) -> None:
        """Write the table as Parquet and CSV, and all of ``to_dict`` as JSON, to a folder."""
        from pyarrow import csv, parquet

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / REQUEST, self.request)
        with replacing(path / CSV, follow=False) as partial:
            csv.write_csv(with_ids_as_text(self.table), partial)
        write_json(path / JSON, self.to_dict())
        with replacing(path / PARQUET, follow=False) as partial:
            parquet.write_table(self.table, partial)

    @classmethod
    def load(cls, folder: str | Path) -> Comparison:
        """Return the comparison that ``save`` or ``streamsieve compare -o`` wrote to a folder."""
        from pyarrow import parquet

        request, path = read_request(Path(folder)), Path(folder) / PARQUET
        if not file_exists(path):
            raise UsageError(
                f"{folder}: the comparison is not finished; run the same command once more"
            )
        try:
            table = parquet.read_table(path)
            if table.schema.names != SCHEMA.names:
                raise ValueError("other columns")
            table = table.cast(SCHEMA)
        except (pa.ArrowException, ValueError, OSError) as error:
            raise DataError(
                f"{path}: damaged, or of another version ({error}); compare once more"
            ) from error
        return cls(table, request)

    # ---- display

    def plot(self, axes: Axes | None = None) -> Figures:
        """Return the figures of a report: accuracy against k and time by data set, and ranks.

        A notebook shows them; ``save`` writes them as SVG. The first one is drawn on Matplotlib
        ``axes``, if given.
        """
        from ..report.figures import plot

        return plot(self, axes)

    def __repr__(self) -> str:
        shown = [
            f"{printable(line['data'], MAX_NAME_LENGTH)} {line['method']}"
            + ("" if line["k"] is None else f" k={line['k']}")
            + f" ({measure_text(line, self.measure)})"
            for line in self.best()[:3]
        ]
        ellipsis = ", ..." if len(self._names()) > 3 else ""
        best = f"; best on {', '.join(shown)}{ellipsis}" if shown else ""
        return f"<Comparison: {self._size_text()}{best}>"

    def _repr_html_(self) -> str:
        order = {name: number for number, name in enumerate(self._names())}
        summary = sorted(
            self.summary(), key=lambda line: (order[line["data"]], -(line[self.measure] or 0.0))
        )
        lines = [
            {
                "data": line["data"],
                "method": line["method"],
                "k": line["k"],
                "model": line["model"],
                self.measure: measure_text(line, self.measure) if line["n"] else line["error"],
                "time": seconds_text(line["seconds"]),
                "memory": memory_text(line["peak_memory_bytes"]),
            }
            for line in summary[:MAX_IN_TABLE]
        ]
        return html_table(f"Comparison: {self._size_text()}", lines, len(summary))

    def _size_text(self) -> str:
        failed = self.table.num_rows - self.table["error"].null_count
        parts = (
            (len(self.request["methods"]), "method"),
            (len(self._names()), "data set"),
            (self.table.num_rows, "line"),
        )
        text = ", ".join(f"{count:,} {word}{'' if count == 1 else 's'}" for count, word in parts)
        return text + (f" ({failed:,} failed)" if failed else "")


def group_lines(lines: Iterable[Line], *names: str) -> list[tuple[tuple[Any, ...], list[Line]]]:
    """Return groups of lines with the same values in some columns, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Line]] = {}
    for line in lines:
        groups.setdefault(tuple(line[name] for name in names), []).append(line)
    return list(groups.items())


def summarize(lines: list[Line]) -> dict[str, Any]:
    """Return the means, deviations and counts of some lines."""
    successes = [line for line in lines if line["error"] is None]
    errors = [line["error"] for line in lines if line["error"] is not None]

    def aggregate(name: str, function: Callable[[list[Any]], Any]) -> Any:
        values = [line[name] for line in successes if line[name] is not None]
        return function(values) if values else None

    summary: dict[str, Any] = {
        "n": len(successes),
        "failed": len(errors),
        "n_selected": aggregate("n_selected", fmean),
    }
    for name in MEASURES_WITH_SPREAD:
        summary |= {name: aggregate(name, fmean), f"{name}_sd": aggregate(name, deviation)}
    summary |= {
        "compile_seconds": aggregate("compile_seconds", fmean),
        "peak_memory_bytes": aggregate("peak_memory_bytes", max),
    }
    return summary | {"error": errors[0] if errors else None}


def deviation(values: list[float]) -> float | None:
    """Return the standard deviation of a sample; None for a single value."""
    return stdev(values) if len(values) > 1 else None


def with_ids_as_text(table: pa.Table) -> pa.Table:
    """Return the table with ids as text, separated by spaces: CSV has no lists."""
    texts = [
        None if ids is None else " ".join(map(str, ids)) for ids in table["selected"].to_pylist()
    ]
    position = table.schema.get_field_index("selected")
    return table.set_column(position, "selected", pa.array(texts, pa.string()))


def measure_text(line: dict[str, Any], measure: str) -> str:
    """Return the text of a mean with its deviation: 97.2% ± 1.4, or 0.913 ± 0.021."""
    mean, spread = line[measure], line.get(f"{measure}_sd")
    if mean is None:
        return "-"
    if measure in PERCENT:
        return f"{mean:.1%}" + ("" if spread is None else f" ± {100 * spread:.1f}")
    return f"{mean:.3f}" + ("" if spread is None else f" ± {spread:.3f}")


def seconds_text(seconds: float | None) -> str:
    """Return the text of a time, with two or three digits."""
    if seconds is None:
        return "-"
    return (
        f"{1000 * seconds:.0f} ms"
        if seconds < 0.9995
        else f"{seconds:.1f} s"
        if seconds < 100
        else f"{seconds:,.0f} s"
    )


def memory_text(size: float | None) -> str:
    """Return the text of a number of bytes, in MB."""
    return "-" if size is None else f"{size / 1e6:,.0f} MB"
