"""The tables of Yu, Wu, Ding, Pei (2016) that judge selections, and the figures drawn of the same runs."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..beside import Claim, claims_table
from ..experiment import Cell, Experiment, Setting, Table
from .printed import PRINTED
from .protocol import CLASSIFIERS, DECIDED, MEASURES, OF_AUC, OF_METHOD, files_of, measured

PAPER = "Yu, Wu, Ding, Pei (2016), scalable and accurate online feature selection for big data"
QUICK_SETS = ("leukemia",)
ONLINE = ("SAOLA", "Fast-OSFS", "alpha-investing", "OFS")
BLANKETS = ("SAOLA", "FCBF", "IAMB", "MMMB")
BOUNDS = ("SAOLA", "SAOLA-max")
GROUPS = ("group-SAOLA", "OGFS")
BATCH = ("SAOLA", "FCBF")
SETS = ("dexter", "leukemia", "madelon")
CHALLENGE = ("arcene", "dexter")
ALLOWED = {"features": 0.2, "groups": 0.2}  # of the paper's figure; of accuracies and AUC:
NEAR = 0.03
ROUNDING = 1e-9
ALIKE = 0.05  # of accuracies and AUC that are much alike

OPEN = (
    "what the paper leaves open is decided as in P3.table3; tables of one command share their runs"
)
DRAWN = "the paper only draws this: its figures cannot be read off"
LACKS = "SPSF-LAR and GDM, which the paper compares with, are not in streamsieve"
OF_ONLINE = (OF_METHOD["alpha-investing"], OF_METHOD["OFS"])
NO_LASSO = "Sparse Group Lasso, which the paper compares with, is not in streamsieve"


class Shown(NamedTuple):
    """A measure that is shown, and where the paper prints it, if it does."""

    measure: str  # one of MEASURES, or "AUC" for the mean over the classifiers
    printed: str | None = None


class Said(NamedTuple):
    """How the paper compares SAOLA, or group-SAOLA, with another method on all sets."""

    text: str
    one: str
    other: str
    relation: str  # "above", "below" or "like"

    def claim(self, means: dict[tuple[str, str], float]) -> Claim:
        """Whether it is so on every set here."""
        pairs = {
            name: (mean, means[name, self.other])
            for (name, method), mean in means.items()
            if method == self.one
        }
        holds = {
            "above": all(one > other for one, other in pairs.values()),
            "below": all(one < other for one, other in pairs.values()),
            "like": all(abs(one - other) <= ALIKE for one, other in pairs.values()),
        }
        text = "; ".join(
            f"{name} {one:.3g} and {other:.3g}" for name, (one, other) in pairs.items()
        )
        return Claim(self.text, text, holds[self.relation])


class Spec(NamedTuple):
    """What a table or figure shows of which sets and methods."""

    name: str
    title: str
    sets: tuple[str, ...]
    methods: tuple[str, ...]
    shown: tuple[Shown, ...]
    notes: tuple[str, ...]
    said: Said | None = None  # by the paper of what it draws


def tables(spec: Spec, setting: Setting) -> list[Table]:
    """One table: a line for every set and method, and for every measure the paper's figure and those measured."""
    sets = QUICK_SETS if setting.quick else spec.sets
    columns = ["set, method"]
    for shown in spec.shown:
        columns += [f"{shown.measure}, paper", "measured"] if shown.printed else [shown.measure]
        columns += ["best"] if judges(shown) else []
    rows: list[list[Cell]] = []
    found = measured(setting, sets, spec.methods)
    for (name, method), runs in found.items():
        row: list[Cell] = [f"{name}, {method}"]
        for shown in spec.shown:
            row += cells(shown, column(runs, shown.measure), paper_figure(shown, name, method))
        rows.append(row)
    notes = [OF_DRAWS] if any(map(judges, spec.shown)) else []
    notes += (
        [OF_STARS]
        if any(shown.printed and shown.measure != "seconds" for shown in spec.shown)
        else []
    )
    table = Table(spec.title, columns, rows, [" ".join(notes)] if notes else [])
    if not spec.said:
        return [table]
    means = {
        pair: float(column(runs, spec.shown[0].measure).mean()) for pair, runs in found.items()
    }
    return [table, claims_table([spec.said.claim(means)])]


OF_DRAWS = (
    "Of several draws the mean ± the standard deviation, and the best; the paper gives the best of"
    " leukemia's."
)
OF_STARS = (
    "A star: the paper's is not between two deviations below the mean and the best (of features"
    f" and groups, the most), with {NEAR} more allowed on either side (of features and groups a"
    " fifth)."
)


def judges(shown: Shown) -> bool:
    """Whether more is better."""
    return shown.measure.startswith(("AUC", *CLASSIFIERS))


def column(runs: NDArray[np.float64], measure: str) -> NDArray[np.float64]:
    names = [f"AUC {name}" for name in CLASSIFIERS] if measure == "AUC" else [measure]
    found: NDArray[np.float64] = runs[:, [MEASURES.index(name) for name in names]].mean(axis=1)
    return found


def paper_figure(shown: Shown, name: str, method: str) -> float | None:
    return PRINTED[shown.printed].get(name, {}).get(method) if shown.printed else None


def cells(shown: Shown, values: NDArray[np.float64], paper: float | None) -> list[Cell]:
    """The paper's figure, the measured ones, and for what judges the best of several."""
    mean, drawn = float(values.mean()), values.size > 1
    form = ".4f" if judges(shown) else ",g"
    beside: list[Cell] = [paper and f"{paper:{form}}"] if shown.printed else []
    if shown.measure == "seconds":
        return [*beside, f"{mean:.3f}"]
    star = "" if paper is None or near(shown.measure, values, paper) else " *"
    if not judges(shown):
        return [*beside, f"{mean:.3g}{star}"]
    spread = f" ± {values.std():.3f}" if drawn else ""
    return [*beside, f"{mean:.4f}{spread}{star}", f"{values.max():.4f}" if drawn else None]


def near(measure: str, values: NDArray[np.float64], paper: float) -> bool:
    """Whether the paper's figure may be one of these."""
    allowed = max(1.0, ALLOWED[measure] * paper) if measure in ALLOWED else NEAR
    low, high = float(values.mean() - 2 * values.std()), float(values.max())
    return low - allowed - ROUNDING <= paper <= high + allowed + ROUNDING


ABOVE_OFS = Said("SAOLA is above OFS on all 14 sets", "SAOLA", "OFS", "above")
LIKE_FCBF = Said("SAOLA is much like FCBF", "SAOLA", "FCBF", "like")
LIKE_MAX = Said("SAOLA and SAOLA-max are much alike on all 14 sets", "SAOLA", "SAOLA-max", "like")
AUC, DRAWS = "AUC, mean of the three classifiers", "Accuracy with a linear SVM over draws of rows"

SPECS = (
    Spec("table3", "Accuracy with J48", SETS, ONLINE, (Shown("J48", "III"),), DECIDED + OF_ONLINE),
    Spec(
        "table4",
        "Accuracy with the nearest neighbour",
        SETS,
        ONLINE,
        (Shown("KNN", "IV"),),
        (OPEN,),
    ),
    Spec("table5", "Accuracy with a linear SVM", SETS, ONLINE, (Shown("SVM", "V"),), (OPEN,)),
    Spec(
        "table6", "Number of selected features", SETS, ONLINE, (Shown("features", "VI"),), (OPEN,)
    ),
    Spec("table7", "Seconds to select", SETS, ONLINE, (Shown("seconds", "VII"),), (OPEN,)),
    Spec("table8", AUC, SETS, ONLINE[:3], (Shown("AUC", "VIII"),), (OF_AUC, OPEN)),
    Spec("fig1", AUC, SETS, ("SAOLA", "OFS"), (Shown("AUC"),), (DRAWN, OPEN), ABOVE_OFS),
    Spec(
        "fig2",
        DRAWS,
        ("leukemia",),
        ONLINE,
        (Shown("SVM"),),
        (DRAWN, OPEN),
        Said("SAOLA's mean is above that of alpha-investing", "SAOLA", "alpha-investing", "above"),
    ),
    Spec(
        "fig6",
        "Number of selected features",
        SETS,
        BATCH,
        (Shown("features"),),
        (DRAWN, LACKS, OPEN),
        Said("FCBF selects more features than SAOLA", "SAOLA", "FCBF", "below"),
    ),
    Spec(
        "fig7",
        "Seconds to select",
        SETS,
        BATCH,
        (Shown("seconds"),),
        (DRAWN, LACKS, OPEN),
        Said("SAOLA is faster than FCBF", "SAOLA", "FCBF", "below"),
    ),
    Spec(
        "table10",
        "Accuracy with J48",
        SETS,
        BATCH,
        (Shown("J48", "X"),),
        (OF_METHOD["FCBF"], LACKS, OPEN),
    ),
    Spec(
        "table11",
        "Accuracy with the nearest neighbour",
        SETS,
        BATCH,
        (Shown("KNN", "XI"),),
        (LACKS, OPEN),
    ),
    Spec(
        "table12", "Accuracy with a linear SVM", SETS, BATCH, (Shown("SVM", "XII"),), (LACKS, OPEN)
    ),
    Spec("table13", AUC, SETS, BATCH, (Shown("AUC", "XIII"),), (LACKS, OPEN)),
    Spec("fig11", DRAWS, ("leukemia",), BATCH, (Shown("SVM"),), (DRAWN, OPEN), LIKE_FCBF),
    Spec(
        "table14",
        "Accuracy and AUC with a linear SVM",
        CHALLENGE,
        BLANKETS,
        (Shown("SVM", "XIV accuracy"), Shown("AUC SVM", "XIV AUC")),
        (OF_METHOD["FCBF"], OF_METHOD["IAMB"], OF_METHOD["MMMB"], OPEN),
    ),
    Spec(
        "table15",
        "Accuracy and AUC with the nearest neighbour",
        CHALLENGE,
        BLANKETS,
        (Shown("KNN", "XV accuracy"), Shown("AUC KNN", "XV AUC")),
        (OPEN,),
    ),
    Spec(
        "table16",
        "Accuracy and AUC with J48",
        CHALLENGE,
        BLANKETS,
        (Shown("J48", "XVI accuracy"), Shown("AUC J48", "XVI AUC")),
        (OPEN,),
    ),
    Spec(
        "table17",
        "Number of features and seconds",
        CHALLENGE,
        BLANKETS,
        (Shown("features", "XVII features"), Shown("seconds", "XVII seconds")),
        (OF_METHOD["FCBF"], OF_METHOD["IAMB"], OF_METHOD["MMMB"], OPEN),
    ),
    Spec(
        "table18",
        "Accuracy with the smaller and the larger bound",
        SETS,
        BOUNDS,
        tuple(Shown(name, f"XVIII {name}") for name in CLASSIFIERS),
        (OPEN,),
    ),
    Spec(
        "table19",
        "Seconds and number of features with the smaller and the larger bound",
        SETS,
        BOUNDS,
        (Shown("seconds", "XIX seconds"), Shown("features", "XIX features")),
        (OPEN,),
    ),
    Spec("fig12", AUC, SETS, BOUNDS, (Shown("AUC"),), (DRAWN, OPEN), LIKE_MAX),
    Spec(
        "table21",
        "Accuracy at alpha 0.01 and 0.05",
        ("madelon",),
        ("SAOLA", "SAOLA, alpha 0.05"),
        (Shown("KNN", "XXI KNN"), Shown("J48", "XXI J48")),
        ("J48: without pruning the tree has 0.53 at alpha 0.05, nearer to the paper's", OPEN),
    ),
    Spec(
        "table22",
        "Accuracy with features in groups",
        SETS,
        GROUPS,
        (Shown("J48", "XXII J48"), Shown("KNN", "XXII KNN")),
        (OF_METHOD["OGFS"], NO_LASSO, OPEN),
    ),
    Spec(
        "table23",
        "Seconds, features and groups",
        SETS,
        GROUPS,
        (
            Shown("seconds", "XXIII seconds"),
            Shown("features", "XXIII features"),
            Shown("groups", "XXIII groups"),
        ),
        ("figures 16 and 17 draw the groups against the accuracies of table XXII", NO_LASSO, OPEN),
    ),
    Spec(
        "fig15",
        "AUC and accuracy with the nearest neighbour",
        SETS,
        GROUPS,
        (Shown("AUC KNN"), Shown("KNN")),
        (DRAWN, OPEN),
        Said("group-SAOLA is clearly better than OGFS", "group-SAOLA", "OGFS", "above"),
    ),
)


def experiment(spec: Spec) -> Experiment:
    return Experiment(
        f"P3.{spec.name}",
        f"{spec.title}: {', '.join(spec.methods)}",
        PAPER,
        files_of(*spec.sets),
        2 if "OFS" in spec.methods and "madelon" in spec.sets else 0.5,  # its SVMs take longest
        partial(tables, spec),
        spec.notes,
        quick_data=files_of(*QUICK_SETS),
    )
