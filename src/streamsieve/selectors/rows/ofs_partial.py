"""OFS_P: online feature selection with partial inputs (Wang, Zhao, Hoi, Jin 2014, algorithm 4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import UsageError
from ...kernels.rows.first_order import ON_MARGIN, ON_MISTAKE
from ...kernels.rows.partial import CENTRED, NOT_SCALED, PartialState
from ...kernels.rows.scores import keep_selected
from ..base import ClassWeight, Seed
from ..prediction import Squares
from ..requirements import require, require_one_of
from .addresses import table_addresses
from .inputs import AUTO, UNIT_LENGTH
from .learner import RowLearner
from .limits import FRACTIONS, RADII, STEPS, require_between
from .results import Scorer
from .rules.first_order import PartialRule

TRIGGERS = {"margin": ON_MARGIN, "mistake": ON_MISTAKE}


@dataclass(eq=False, repr=False, kw_only=True)
class OFSPartialLearner(RowLearner[PartialState]):
    """Online feature selection that sees as few attributes of a row as it keeps (Wang et al. 2014, algorithm 4).

    For two classes. With probability ``epsilon`` a row is explored: as many attributes as the budget are drawn from
    all. Otherwise those in use are looked at. Values are divided by the probability that they are seen, so that what is
    learned is right on average. For data where every attribute costs: ``ask()`` names the attributes to acquire for the
    next row, ``tell(values, y)`` learns from them. ``fit`` and ``partial_fit`` take complete rows and read only what
    would have been asked for; all else may be NaN. Scaling and intercept, too, use only what was seen.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        The budget: how many attributes to see of each row, and to keep.
    epsilon : float, default=0.2
        The fraction of rows to explore.
    eta : float, default=0.2
        The step.
    radius : float, default=10.0
        The weights are kept in a ball of this radius.
    trigger : {"margin", "mistake"}, default="margin"
        Learn from rows inside the margin, or only from those predicted wrongly.
    normalize, fit_intercept, class_weight, n_epochs
        As in SOFS, with seen values only.
    random_state : int, Generator or None, default=None
        What the draws depend on.
    """

    method: ClassVar[str] = "ofs-partial"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = ({"normalize": "standard+l2", "random_state": 3},)
    exempt_from_checks: ClassVar[dict[str, str]] = dict.fromkeys(
        (
            "check_huge_ids_change_nothing",
            "check_plans_change_in_the_middle_of_a_run",
            "check_rows_may_grow_wider",
        ),
        "it draws from all features: their number is declared at the start and stays",
    )
    two_classes_only: ClassVar[bool] = True
    draws: ClassVar[bool] = True
    asks: ClassVar[bool] = True

    n_features_to_select: int | float = field(default=100, kw_only=False)
    epsilon: float = 0.2
    eta: float = 0.2
    radius: float = 10.0
    trigger: str = "margin"
    normalize: bool | str = False
    fit_intercept: bool = True
    class_weight: ClassWeight = "auto"
    n_epochs: int = 1
    random_state: Seed = None

    def check_parameters(self) -> None:
        super().check_parameters()
        require(self.normalize != AUTO, "normalize", AUTO, "chosen by hand: only values asked for may be read")
        require_between("epsilon", self.epsilon, FRACTIONS)
        require_between("eta", self.eta, STEPS)
        require_between("radius", self.radius, RADII)
        require_one_of("trigger", self.trigger, TRIGGERS)

    def rule_for(self, n_vectors: int) -> PartialRule:
        return PartialRule(
            float(self.epsilon),
            float(self.eta),
            float(self.radius),
            TRIGGERS[self.trigger],
            standardizes=self.make_inputs().standardizes,
            unit_length=self.normalize in UNIT_LENGTH,
            share=self.share,
        )

    def ask(self) -> NDArray[np.int64]:
        """The ids of the attributes to acquire for the next row, ascending; the same again until ``tell``."""
        if not self.started:
            raise UsageError("call start(n_features=..., classes=[...]) before the first ask")
        return self.rule_for(1).ask(self.memory)

    def tell(self, values: Any, y: Any) -> Self:
        """Learn from the values of what ``ask`` named, in that order, and the label of the row."""
        asked = self.ask()
        seen = np.asarray(values, np.float64 if self.inputs.centres else np.float32).ravel()
        if seen.size != asked.size:
            raise ValueError(f"{asked.size} attributes were asked for, {seen.size} values given")
        if not np.isfinite(seen).all():
            missing = asked[~np.isfinite(seen)][0]
            raise ValueError(f"the value of attribute {missing} is missing; tell what was asked for")
        present = seen != 0
        indptr = np.array([0, np.count_nonzero(present)])
        row = RowBlock(indptr, asked[present], seen[present], np.asarray([y]), self.memory.declared_width, dense=True)
        return self.partial_fit_block(row)

    def scorer(self) -> Scorer:
        """What gives the scores of the rows of a block, from the kept attributes alone; no other is read."""
        memory, rule = self.memory, self.rule_for(1)
        state, scaling, unit_length = memory.state, rule.scaling(memory), rule.unit_length
        ids, weights, _ = self.weights()
        lookup = table_addresses(ids)
        spread = np.sqrt(state.deviation[ids] / np.maximum(1.0, state.seen[ids]))
        spread[spread == 0] = np.inf if scaling == CENTRED else 1.0
        centre = state.mean[ids] if scaling == CENTRED else 0.0
        start = self.intercept()[0]

        def score(block: RowBlock, squares: Squares = None) -> NDArray[np.float64]:
            indptr = np.zeros(block.n_rows + 1, np.int64)
            indices, values = np.empty(block.n_nonzero, np.int32), np.empty_like(block.values)
            rows = block.indptr, block.indices, block.values
            kept = keep_selected(lookup.table, lookup.ids, *rows, indptr, indices, values)
            matrix = RowBlock(indptr, indices[:kept], values[:kept], None, ids.size).to_dense()
            if scaling != NOT_SCALED:
                matrix = (matrix - centre) / spread
            if unit_length:
                norms = np.sqrt((matrix**2).sum(axis=1))
                matrix /= np.where(norms > 0, norms, 1.0)[:, None]
            scores: NDArray[np.float64] = matrix @ weights[:, 0] + start
            return scores

        return score
