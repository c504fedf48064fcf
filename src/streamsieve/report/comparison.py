"""A comparison as the report shows it: a plain dictionary with all that the page needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..files import is_there
from ..json_text import finite
from .wording import DASH, count, listed, percent, seconds, short

if TYPE_CHECKING:
    from ..evaluation.comparison import Comparison

REQUEST = "request.json"  # a folder of a comparison has it, that of a run has not
TRAINING = "data", "method", "k", "seed", "fold"  # what one training is for
OWN = "own"  # the model of a line that has the method's own predictions
MOST_NAMED = 4  # methods in a title
MOST_ERRORS = 200  # cells that failed, in full


def is_comparison(source: Any) -> bool:
    """Whether something is a comparison, or the folder of one."""
    if isinstance(source, str | Path):
        return is_there(Path(source) / REQUEST)
    from ..evaluation.comparison import Comparison

    return isinstance(source, Comparison)


def describe_comparison(source: str | Path | Comparison) -> dict[str, Any]:
    """All that a report says of a comparison, as JSON can hold it; ``source`` may be its folder."""
    from ..evaluation.comparison import Comparison

    folder = Path(source).resolve() if isinstance(source, str | Path) else None
    comparison = Comparison.load(source) if isinstance(source, str | Path) else source
    table, request = comparison.table.drop_columns(["selected"]), comparison.request
    failed = [line for line in table.to_pylist() if line["error"] is not None]
    described = {
        "kind": "comparison",
        "title": few(request["methods"]) if folder is None else folder.name,
        "folder": None if folder is None else str(folder),
        "measure": comparison.measure,
        "asked": request,
        "n_lines": table.num_rows,
        "n_failed": len(failed),
        "seconds": seconds_of(table.to_pylist()),
        "summary": comparison.summary(),
        "best": comparison.best(),
        "ranks": ranks_of(comparison),
        "stability": comparison.stability(),
        "lines": table.to_pydict(),
        "failed": failed[:MOST_ERRORS],
    }
    described["headline"] = headline_of(described)
    return dict(finite(described))


def seconds_of(lines: list[dict[str, Any]]) -> float:
    """The time of all trainings; those of one training, judged by several models, have it in a line each."""
    trained = {tuple(line[name] for name in TRAINING): line["seconds"] or 0.0 for line in lines}
    return sum(trained.values())


def ranks_of(comparison: Comparison) -> dict[str, Any]:
    """Average ranks with the critical difference; under ``missing`` why there is no test of them."""
    try:
        ranks = comparison.ranks().to_dict()
    except UsageError as error:
        return {"missing": str(error)}
    if ranks["critical_difference"] is None:
        ranks["missing"] = "a test of ranks needs two data sets or more, and all methods on each"
    return ranks


def headline_of(found: dict[str, Any]) -> str:
    """Which method is best, in one sentence."""
    if not found["best"]:
        return "No cell of this comparison has a result."
    if len(found["asked"]["data"]) == 1:
        best = found["best"][0]
        kept = f"{best['n_selected']:,.0f} features"
        return (
            f"{short(contender(best))} is best on {short(best['data'])}: {measured(found, best[found['measure']])} "
            f"with {kept}, in {seconds(best['seconds'])}."
        )
    ranks = found["ranks"]
    if "average" not in ranks:
        return f"{count(len(found['asked']['methods']))} methods on {count(len(found['asked']['data']))} data sets."
    first, *others = ranks["average"]
    alike = next((group for group in ranks["cliques"] if first in group), [first])
    beside = [short(one) for one in alike if one != first]
    text = (
        f"{short(first)} ranks first on average over {count(ranks['n_sets'])} data sets (mean rank "
        f"{ranks['average'][first]:.1f})"
    )
    if ranks["critical_difference"] is None or not others:
        return f"{text}."
    if not beside:
        return f"{text}, significantly ahead of all others."
    if len(beside) == len(others):
        return f"{text}, though no difference is significant."
    return f"{text}, not significantly ahead of {listed(beside)}."


def contender(line: dict[str, Any]) -> str:
    """A method as it enters a comparison: with a model on its features, or with its own predictions."""
    return f"{line['method']} ({OWN})" if line["model"] == OWN else str(line["method"])


def few(names: list[str]) -> str:
    return ", ".join([*names[:MOST_NAMED], *(["..."] if len(names) > MOST_NAMED else [])])


def measured(found: dict[str, Any], value: float | None) -> str:
    """A mean of the comparison's measure."""
    if value is None:
        return DASH
    return f"{percent(value)} accuracy" if found["measure"] == "accuracy" else f"R² {value:.3f}"
