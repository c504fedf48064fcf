"""A comparison as the report shows it: a plain dictionary with all that the page needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..display import MAX_CELL_LENGTH, printable
from ..errors import UsageError
from ..files import is_there
from ..json_text import finite
from .wording import listed, percent, seconds

if TYPE_CHECKING:
    from ..evaluation.comparison import Comparison

REQUEST = "request.json"  # a folder of a comparison has it, that of a run has not
TRAINING = "data", "method", "k", "seed", "fold"  # what one training is for
OWN = "own"  # the model of a line that has the method's own predictions
MAX_NAMED = 4  # methods in a title
MAX_ERRORS = 200  # cells that failed, in full


def is_comparison(source: Any) -> bool:
    """Return True for a comparison, or the folder of one."""
    if isinstance(source, str | Path):
        return is_there(Path(source) / REQUEST)
    from ..evaluation.comparison import Comparison

    return isinstance(source, Comparison)


def describe_comparison(source: str | Path | Comparison) -> dict[str, Any]:
    """Return all that a report says of a comparison, as JSON can hold it; ``source`` may be its folder."""
    from ..evaluation.comparison import Comparison

    if isinstance(source, Comparison):
        comparison, path = source, None
    else:
        comparison, path = Comparison.load(source), Path(source).resolve()
    table, methods = comparison.table.drop_columns(["selected"]), comparison.request["methods"]
    lines = table.to_pylist()
    failed = [line for line in lines if line["error"] is not None]
    few = ", ".join([*methods[:MAX_NAMED], *(["..."] if len(methods) > MAX_NAMED else [])])
    # The time of one training, judged by several models, is in a line each.
    trained = {tuple(line[name] for name in TRAINING): line["seconds"] or 0.0 for line in lines}
    described = {
        "kind": "comparison",
        "title": few if path is None else path.name,
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
    """Return average ranks with the critical difference; under ``missing`` why there is no test of them."""
    try:
        ranks = comparison.ranks().to_dict()
    except UsageError as error:
        return {"missing": str(error)}
    missing = {"missing": "a test of ranks needs two data sets or more, and all methods on each"}
    return ranks | (missing if ranks["critical_difference"] is None else {})


def headline_of(found: dict[str, Any]) -> str:
    """Return which method is best, in one sentence."""
    n_methods, n_sets, ranks = (
        len(found["asked"]["methods"]),
        len(found["asked"]["data"]),
        found["ranks"],
    )
    if not found["best"]:
        return "No cell of this comparison has a result."
    if n_sets == 1:
        best = found["best"][0]
        quality = value_text(found, best[found["measure"]])
        quality = f"{quality} accuracy" if found["measure"] == "accuracy" else f"R² {quality}"
        name, data = (
            printable(contender(best), MAX_CELL_LENGTH),
            printable(best["data"], MAX_CELL_LENGTH),
        )
        kept = f"{best['n_selected']:,.0f} features"
        return f"{name} is best on {data}: {quality} with {kept}, in {seconds(best['seconds'])}."
    if "average" not in ranks:
        return f"{n_methods:,} methods on {n_sets:,} data sets."
    first, *others = ranks["average"]
    alike = next((group for group in ranks["cliques"] if first in group), [first])
    beside = [printable(method, MAX_CELL_LENGTH) for method in alike if method != first]
    text = (
        f"{printable(first, MAX_CELL_LENGTH)} ranks first on average over {ranks['n_sets']:,} data"
        " sets"
    )
    text += f" (mean rank {ranks['average'][first]:.1f})"
    if ranks["critical_difference"] is None or not others:
        return f"{text}."
    if not beside:
        return f"{text}, significantly ahead of all others."
    if len(beside) == len(others):
        return f"{text}, though no difference is significant."
    return f"{text}, not significantly ahead of {listed(beside)}."


def contender(line: dict[str, Any]) -> str:
    """Return a method as it enters a comparison: with a model on its features, or with its own predictions."""
    return f"{line['method']} ({OWN})" if line["model"] == OWN else str(line["method"])


def value_text(found: dict[str, Any], value: float) -> str:
    """Return a mean of the comparison's measure."""
    return percent(value) if found["measure"] == "accuracy" else f"{value:.3f}"
