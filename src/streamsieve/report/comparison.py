"""Describe a comparison: a plain dictionary with all that the page needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..display import MAX_CELL_LENGTH, printable
from ..errors import UsageError
from ..files import file_exists
from ..json_text import finite
from .wording import join_words, percent, seconds

if TYPE_CHECKING:
    from ..evaluation.comparison import Comparison

REQUEST = "request.json"  # in the folder of a comparison, not in that of a run
TRAINING = "data", "method", "k", "seed", "fold"  # these identify one training
OWN = "own"  # the model of a line that has the method's own predictions
MAX_NAMED = 4  # methods in a title
MAX_ERRORS = 200  # cells that failed, in full


def is_comparison(source: Any) -> bool:
    """Return True for a comparison, or the folder of one."""
    if isinstance(source, str | Path):
        return file_exists(Path(source) / REQUEST)
    from ..evaluation.comparison import Comparison

    return isinstance(source, Comparison)


def describe_comparison(source: str | Path | Comparison) -> dict[str, Any]:
    """Return the description of a comparison as a JSON dictionary.

    ``source`` is a comparison or its folder.
    """
    from ..evaluation.comparison import Comparison

    if isinstance(source, Comparison):
        comparison, path = source, None
    else:
        comparison, path = Comparison.load(source), Path(source).resolve()
    table, methods = comparison.table.drop_columns(["selected"]), comparison.request["methods"]
    lines = table.to_pylist()
    failed = [line for line in lines if line["error"] is not None]
    title = ", ".join([*methods[:MAX_NAMED], *(["..."] if len(methods) > MAX_NAMED else [])])
    # Each model of one training has a line, with the time of that training.
    trained = {tuple(line[name] for name in TRAINING): line["seconds"] or 0.0 for line in lines}
    described = {
        "kind": "comparison",
        "title": title if path is None else path.name,
        "folder": None if path is None else str(path),
        "measure": comparison.measure,
        "asked": comparison.request,
        "n_lines": table.num_rows,
        "n_failed": len(failed),
        "seconds": sum(trained.values()),
        "summary": comparison.summary(),
        "best": comparison.best(),
        "ranks": ranks_of(comparison),
        "stability": comparison.stability(),
        "lines": table.to_pydict(),
        "failed": failed[:MAX_ERRORS],
    }
    described["headline"] = headline_of(described)
    return dict(finite(described))


def ranks_of(comparison: Comparison) -> dict[str, Any]:
    """Return average ranks with their critical difference.

    If there is no test of the ranks, ``missing`` is the reason.
    """
    try:
        ranks = comparison.ranks().to_dict()
    except UsageError as error:
        return {"missing": str(error)}
    missing = {"missing": "a test of ranks needs two data sets or more, and all methods on each"}
    return ranks | (missing if ranks["critical_difference"] is None else {})


def headline_of(comparison: dict[str, Any]) -> str:
    """Return in one sentence which method is best."""
    n_sets, ranks = len(comparison["asked"]["data"]), comparison["ranks"]
    if not comparison["best"]:
        return "No cell of this comparison has a result."
    if n_sets == 1:
        best = comparison["best"][0]
        value = value_text(comparison, best[comparison["measure"]])
        quality = f"{value} accuracy" if comparison["measure"] == "accuracy" else f"R² {value}"
        return (
            f"{printable(method_label(best), MAX_CELL_LENGTH)} is best on"
            f" {printable(best['data'], MAX_CELL_LENGTH)}: {quality} with"
            f" {best['n_selected']:,.0f} features, in {seconds(best['seconds'])}."
        )
    if "average" not in ranks:
        return f"{len(comparison['asked']['methods']):,} methods on {n_sets:,} data sets."
    first, *others = ranks["average"]
    clique = next((group for group in ranks["cliques"] if first in group), [first])
    not_different = [printable(method, MAX_CELL_LENGTH) for method in clique if method != first]
    text = (
        f"{printable(first, MAX_CELL_LENGTH)} ranks first on average over {ranks['n_sets']:,} data"
        f" sets (mean rank {ranks['average'][first]:.1f})"
    )
    if ranks["critical_difference"] is None or not others:
        return f"{text}."
    if not not_different:
        return f"{text}, significantly ahead of all others."
    if len(not_different) == len(others):
        return f"{text}, though no difference is significant."
    return f"{text}, not significantly ahead of {join_words(not_different)}."


def method_label(line: dict[str, Any]) -> str:
    """Return the name of a method and, for its own predictions, that of the model."""
    return f"{line['method']} ({OWN})" if line["model"] == OWN else str(line["method"])


def value_text(comparison: dict[str, Any], value: float) -> str:
    """Return a mean of the comparison's measure as text."""
    return percent(value) if comparison["measure"] == "accuracy" else f"{value:.3f}"
