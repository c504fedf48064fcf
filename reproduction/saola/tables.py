"""The tables of Yu, Wu, Ding, Pei (2016) that judge selections, and figures of the same runs."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..beside import Claim, claims_table
from ..experiment import Cell, Experiment, Setting, Table
from .printed import PRINTED
from .protocol import CLASSIFIERS, DECIDED, MEASURES, OF_AUC, OF_METHOD, files_of, measure

PAPER = "Yu, Wu, Ding, Pei (2016), scalable and accurate online feature selection for big data"
QUICK_SETS = ("leukemia",)
ONLINE = ("SAOLA", "Fast-OSFS", "alpha-investing", "OFS")
BLANKETS = ("SAOLA", "FCBF", "IAMB", "MMMB")
BOUNDS = ("SAOLA", "SAOLA-max")
GROUPS = ("group-SAOLA", "OGFS")
BATCH = ("SAOLA", "FCBF")
SETS = ("dexter", "leukemia", "madelon")
CHALLENGE = ("arcene", "dexter")
ALLOWED = {"features": 0.2, "groups": 0.2}  # tolerances, as fractions of the paper's figure
NEAR = 0.03  # the tolerance of accuracies and AUC
ROUNDING = 1e-9
ALIKE = 0.05  # the largest difference of accuracies and AUC that are much alike

OPEN = (
    "what the paper leaves open is decided as in P3.table3; tables of one command share their runs"
)
DRAWN = "the paper only draws this: its figures cannot be read off"
LACKS = "SPSF-LAR and GDM, which the paper compares with, are not in streamsieve"
OF_ONLINE = (OF_METHOD["alpha-investing"], OF_METHOD["OFS"])
NO_LASSO = "Sparse Group Lasso, which the paper compares with, is not in streamsieve"


class ShownMeasure(NamedTuple):
    """A measure that is shown, and the paper's table that prints it, if one does."""

    measure: str  # one of MEASURES, or "AUC" for the mean over the classifiers
    printed: str | None = None


class PaperClaim(NamedTuple):
    """A claim of the paper about two methods, on all sets."""

    text: str
    method: str
    other: str
    relation: str  # "above", "below" or "like"

    def check(self, means: dict[tuple[str, str], float]) -> Claim:
        """Return the claim with what was measured; it holds if it does on every set."""
        pairs = {
            name: (mean, means[name, self.other])
            for (name, method), mean in means.items()
            if method == self.method
        }
        holds = {
            "above": all(value > other_value for value, other_value in pairs.values()),
            "below": all(value < other_value for value, other_value in pairs.values()),
            "like": all(abs(value - other_value) <= ALIKE for value, other_value in pairs.values()),
        }
        text = "; ".join(
            f"{name} {value:.3g} and {other_value:.3g}"
            for name, (value, other_value) in pairs.items()
        )
        return Claim(self.text, text, holds[self.relation])


class TableSpec(NamedTuple):
    """The sets, methods and measures of a table or figure."""

    name: str
    title: str
    sets: tuple[str, ...]
    methods: tuple[str, ...]
    shown: tuple[ShownMeasure, ...]
    notes: tuple[str, ...]
    claim: PaperClaim | None = None  # the paper's claim about a drawing


def make_tables(spec: TableSpec, setting: Setting) -> list[Table]:
    """Return a table with a line for every set and method.

    It has the paper's figure and those measured, for every measure.
    """
    sets = QUICK_SETS if setting.quick else spec.sets
    columns = ["set, method"]
    for shown in spec.shown:
        columns += [f"{shown.measure}, paper", "measured"] if shown.printed else [shown.measure]
        columns += ["best"] if is_quality(shown) else []
    rows: list[list[Cell]] = []
    results = measure(setting, sets, spec.methods)
    for (name, method), runs in results.items():
        row: list[Cell] = [f"{name}, {method}"]
        for shown in spec.shown:
            row += measure_cells(
                shown, values_of(runs, shown.measure), paper_figure(shown, name, method)
            )
        rows.append(row)
    notes = [OF_DRAWS] if any(map(is_quality, spec.shown)) else []
    notes += (
        [OF_STARS]
        if any(shown.printed and shown.measure != "seconds" for shown in spec.shown)
        else []
    )
    table = Table(spec.title, columns, rows, [" ".join(notes)] if notes else [])
    if not spec.claim:
        return [table]
    means = {
        pair: float(values_of(runs, spec.shown[0].measure).mean()) for pair, runs in results.items()
    }
    return [table, claims_table([spec.claim.check(means)])]


OF_DRAWS = (
    "Where there are several draws, the table has the mean ± the standard deviation, and the"
    " best; for leukemia the paper gives the best."
)
OF_STARS = (
    "A star: the paper's figure is below the mean less two deviations or above the best draw (for"
    " features and groups: the largest). Accuracies and AUC have a tolerance of"
    f" {NEAR} on either side, numbers of features and groups one of a fifth."
)


def is_quality(shown: ShownMeasure) -> bool:
    """Return True for measures of quality, of which more is better."""
    return shown.measure.startswith(("AUC", *CLASSIFIERS))


def values_of(runs: NDArray[np.float64], measure: str) -> NDArray[np.float64]:
    """Return the values of a measure in all runs."""
    names = [f"AUC {name}" for name in CLASSIFIERS] if measure == "AUC" else [measure]
    values: NDArray[np.float64] = runs[:, [MEASURES.index(name) for name in names]].mean(axis=1)
    return values


def paper_figure(shown: ShownMeasure, name: str, method: str) -> float | None:
    """Return the paper's figure, or None if it prints none."""
    return PRINTED[shown.printed].get(name, {}).get(method) if shown.printed else None


def measure_cells(
    shown: ShownMeasure, values: NDArray[np.float64], paper: float | None
) -> list[Cell]:
    """Return cells with the paper's figure, the measured ones and, for qualities, the best."""
    mean, drawn = float(values.mean()), values.size > 1
    form = ".4f" if is_quality(shown) else ",g"
    paper_cells: list[Cell] = [paper and f"{paper:{form}}"] if shown.printed else []
    if shown.measure == "seconds":
        return [*paper_cells, f"{mean:.3f}"]
    star = "" if paper is None or is_near(shown.measure, values, paper) else " *"
    if not is_quality(shown):
        return [*paper_cells, f"{mean:.3g}{star}"]
    spread = f" ± {values.std():.3f}" if drawn else ""
    return [*paper_cells, f"{mean:.4f}{spread}{star}", f"{values.max():.4f}" if drawn else None]


def is_near(measure: str, values: NDArray[np.float64], paper: float) -> bool:
    """Return True if the paper's figure may be one of these values."""
    allowed = max(1.0, ALLOWED[measure] * paper) if measure in ALLOWED else NEAR
    low, high = float(values.mean() - 2 * values.std()), float(values.max())
    return low - allowed - ROUNDING <= paper <= high + allowed + ROUNDING


ABOVE_OFS = PaperClaim("SAOLA is above OFS on all 14 sets", "SAOLA", "OFS", "above")
LIKE_FCBF = PaperClaim("SAOLA is much like FCBF", "SAOLA", "FCBF", "like")
LIKE_MAX = PaperClaim(
    "SAOLA and SAOLA-max are much alike on all 14 sets", "SAOLA", "SAOLA-max", "like"
)
AUC, DRAWS = "AUC, mean of the three classifiers", "Accuracy with a linear SVM over draws of rows"

SPECS = (
    TableSpec(
        "table3",
        "Accuracy with J48",
        SETS,
        ONLINE,
        (ShownMeasure("J48", "III"),),
        DECIDED + OF_ONLINE,
    ),
    TableSpec(
        "table4",
        "Accuracy with the nearest neighbour",
        SETS,
        ONLINE,
        (ShownMeasure("KNN", "IV"),),
        (OPEN,),
    ),
    TableSpec(
        "table5", "Accuracy with a linear SVM", SETS, ONLINE, (ShownMeasure("SVM", "V"),), (OPEN,)
    ),
    TableSpec(
        "table6",
        "Number of selected features",
        SETS,
        ONLINE,
        (ShownMeasure("features", "VI"),),
        (OPEN,),
    ),
    TableSpec(
        "table7", "Seconds to select", SETS, ONLINE, (ShownMeasure("seconds", "VII"),), (OPEN,)
    ),
    TableSpec("table8", AUC, SETS, ONLINE[:3], (ShownMeasure("AUC", "VIII"),), (OF_AUC, OPEN)),
    TableSpec(
        "fig1", AUC, SETS, ("SAOLA", "OFS"), (ShownMeasure("AUC"),), (DRAWN, OPEN), ABOVE_OFS
    ),
    TableSpec(
        "fig2",
        DRAWS,
        ("leukemia",),
        ONLINE,
        (ShownMeasure("SVM"),),
        (DRAWN, OPEN),
        PaperClaim(
            "SAOLA's mean is above that of alpha-investing", "SAOLA", "alpha-investing", "above"
        ),
    ),
    TableSpec(
        "fig6",
        "Number of selected features",
        SETS,
        BATCH,
        (ShownMeasure("features"),),
        (DRAWN, LACKS, OPEN),
        PaperClaim("FCBF selects more features than SAOLA", "SAOLA", "FCBF", "below"),
    ),
    TableSpec(
        "fig7",
        "Seconds to select",
        SETS,
        BATCH,
        (ShownMeasure("seconds"),),
        (DRAWN, LACKS, OPEN),
        PaperClaim("SAOLA is faster than FCBF", "SAOLA", "FCBF", "below"),
    ),
    TableSpec(
        "table10",
        "Accuracy with J48",
        SETS,
        BATCH,
        (ShownMeasure("J48", "X"),),
        (OF_METHOD["FCBF"], LACKS, OPEN),
    ),
    TableSpec(
        "table11",
        "Accuracy with the nearest neighbour",
        SETS,
        BATCH,
        (ShownMeasure("KNN", "XI"),),
        (LACKS, OPEN),
    ),
    TableSpec(
        "table12",
        "Accuracy with a linear SVM",
        SETS,
        BATCH,
        (ShownMeasure("SVM", "XII"),),
        (LACKS, OPEN),
    ),
    TableSpec("table13", AUC, SETS, BATCH, (ShownMeasure("AUC", "XIII"),), (LACKS, OPEN)),
    TableSpec(
        "fig11", DRAWS, ("leukemia",), BATCH, (ShownMeasure("SVM"),), (DRAWN, OPEN), LIKE_FCBF
    ),
    TableSpec(
        "table14",
        "Accuracy and AUC with a linear SVM",
        CHALLENGE,
        BLANKETS,
        (ShownMeasure("SVM", "XIV accuracy"), ShownMeasure("AUC SVM", "XIV AUC")),
        (OF_METHOD["FCBF"], OF_METHOD["IAMB"], OF_METHOD["MMMB"], OPEN),
    ),
    TableSpec(
        "table15",
        "Accuracy and AUC with the nearest neighbour",
        CHALLENGE,
        BLANKETS,
        (ShownMeasure("KNN", "XV accuracy"), ShownMeasure("AUC KNN", "XV AUC")),
        (OPEN,),
    ),
    TableSpec(
        "table16",
        "Accuracy and AUC with J48",
        CHALLENGE,
        BLANKETS,
        (ShownMeasure("J48", "XVI accuracy"), ShownMeasure("AUC J48", "XVI AUC")),
        (OPEN,),
    ),
    TableSpec(
        "table17",
        "Number of features and seconds",
        CHALLENGE,
        BLANKETS,
        (ShownMeasure("features", "XVII features"), ShownMeasure("seconds", "XVII seconds")),
        (OF_METHOD["FCBF"], OF_METHOD["IAMB"], OF_METHOD["MMMB"], OPEN),
    ),
    TableSpec(
        "table18",
        "Accuracy with the smaller and the larger bound",
        SETS,
        BOUNDS,
        tuple(ShownMeasure(name, f"XVIII {name}") for name in CLASSIFIERS),
        (OPEN,),
    ),
    TableSpec(
        "table19",
        "Seconds and number of features with the smaller and the larger bound",
        SETS,
        BOUNDS,
        (ShownMeasure("seconds", "XIX seconds"), ShownMeasure("features", "XIX features")),
        (OPEN,),
    ),
    TableSpec("fig12", AUC, SETS, BOUNDS, (ShownMeasure("AUC"),), (DRAWN, OPEN), LIKE_MAX),
    TableSpec(
        "table21",
        "Accuracy at alpha 0.01 and 0.05",
        ("madelon",),
        ("SAOLA", "SAOLA, alpha 0.05"),
        (ShownMeasure("KNN", "XXI KNN"), ShownMeasure("J48", "XXI J48")),
        (
            (
                "J48: at alpha 0.05 the tree without pruning has 0.53, which is nearer to the"
                " paper's figure"
            ),
            OPEN,
        ),
    ),
    TableSpec(
        "table22",
        "Accuracy with features in groups",
        SETS,
        GROUPS,
        (ShownMeasure("J48", "XXII J48"), ShownMeasure("KNN", "XXII KNN")),
        (OF_METHOD["OGFS"], NO_LASSO, OPEN),
    ),
    TableSpec(
        "table23",
        "Seconds, features and groups",
        SETS,
        GROUPS,
        (
            ShownMeasure("seconds", "XXIII seconds"),
            ShownMeasure("features", "XXIII features"),
            ShownMeasure("groups", "XXIII groups"),
        ),
        (
            (
                "figures 16 and 17 of the paper draw these numbers of groups against the accuracies"
                " of table XXII"
            ),
            NO_LASSO,
            OPEN,
        ),
    ),
    TableSpec(
        "fig15",
        "AUC and accuracy with the nearest neighbour",
        SETS,
        GROUPS,
        (ShownMeasure("AUC KNN"), ShownMeasure("KNN")),
        (DRAWN, OPEN),
        PaperClaim("group-SAOLA is clearly better than OGFS", "group-SAOLA", "OGFS", "above"),
    ),
)


def make_experiment(spec: TableSpec) -> Experiment:
    """Return the experiment of a table or figure."""
    return Experiment(
        f"P3.{spec.name}",
        f"{spec.title}: {', '.join(spec.methods)}",
        PAPER,
        files_of(*spec.sets),
        2 if "OFS" in spec.methods and "madelon" in spec.sets else 0.5,  # its SVMs take longest
        partial(make_tables, spec),
        spec.notes,
        quick_data=files_of(*QUICK_SETS),
    )
