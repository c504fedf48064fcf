"""Markov blankets of the target, rivals of SAOLA: IAMB and MMMB (Tsamardinos, Aliferis, Statnikov 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...kernels.arrays import LARGEST_VALUE, array
from ...kernels.columns.blankets import (
    Columns,
    association_of_columns,
    grow_blanket,
    parents_and_children,
    shrink_blanket,
)
from ...kernels.columns.dependence import correlate_with_target
from ...kernels.columns.independence import Tests
from ...kernels.types import F64, I32, I64
from ...targets import BOTH, Kind, Target
from ...values import ascends
from .batch import CHOSEN, COLUMN_IDS, ENDS, ROW_NUMBERS, SCORES, USED, BatchLearner
from .centring import centred
from .independence import coded_for, levels_of_target, prepared_tests, require_condition, require_test
from .parts import in_parts
from .statistics import advice_on_level

ROWS_EACH = 5  # rows that a test needs for each degree of freedom or variable: Yu, Wu, Ding, Pei 2016, section 5.4


class GatheredState(NamedTuple):
    """The columns that are not constant, CSC, and what was chosen of them."""

    ids: I64 = COLUMN_IDS
    indptr: I64 = ENDS
    indices: I32 = ROW_NUMBERS
    values: F64 = array("nonzeros", low=-LARGEST_VALUE, below=np.inf, finite=False)
    used: I64 = USED
    chosen: I64 = CHOSEN
    scores: F64 = SCORES


class BlanketLearner(BatchLearner[GatheredState]):
    """What IAMB and MMMB share: the columns as variables, the target the last, and the tests."""

    state_type: ClassVar[type[Any]] = GatheredState
    targets: ClassVar[frozenset[Kind]] = BOTH

    measure: str
    alpha: float

    def _start(self, target: Target) -> GatheredState:
        levels_of_target(target, self.measure)
        return super()._start(target)

    def _norms(self, block: ColumnBlock, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Lengths of the centred columns, 0 for constant ones; ``values``: those of the block, near 0."""
        relevance, norms = np.zeros(block.n_columns), np.zeros(block.n_columns)
        columns, known = (
            (block.indptr, block.indices, values),
            (self.memory.target.weights, self.memory.target.numbers),
        )
        in_parts(block, lambda a, b: correlate_with_target(*columns, *known, a, b, relevance, norms))
        return norms

    def _worth(self, block: ColumnBlock) -> tuple[NDArray[np.bool_], dict[str, NDArray[Any]]]:
        varies = self._norms(block, centred(block)) > 0
        return varies, {"ids": block.ids, "indices": block.indices, "values": block.values}

    def _check_state(self, state: GatheredState, sizes: dict[str, int]) -> None:
        super()._check_state(state, sizes)
        if not ascends(state.indptr, state.indices):
            raise ValueError("the row numbers of a column do not ascend")

    def _columns(self, state: GatheredState) -> Columns:
        target = self.memory.target
        n_rows, n_classes = self.n_rows_, levels_of_target(target, self.measure)
        block = ColumnBlock(state.indptr, state.indices, state.values, state.ids, n_rows)
        codes, n_levels = coded_for(self.measure, block, target)
        values = centred(block)
        if n_classes:
            lengths = np.diff(block.indptr)
            full = lengths == n_rows  # no row has the level 0
            codes = np.concatenate([codes - np.repeat(full, lengths), target.codes], dtype=np.int32)
            n_levels = np.where(n_levels > 0, n_levels - full, 0)
        return Columns(
            np.append(block.indptr, block.indptr[-1] + n_rows),
            np.concatenate([block.indices, np.arange(n_rows, dtype=np.int32)]),
            np.concatenate([values, target.numbers]),
            np.append(self._norms(block, values), 1.0),
            codes,
            np.append(n_levels, n_classes),
        )

    def _advice_if_too_strict(self) -> str:
        return advice_on_level(self.alpha)

    def _tests(self, most_variables: int) -> Tests:
        """The tests; one by counts that is taken has fewer cells than there are rows."""
        return prepared_tests(self.alpha, self.measure, self.n_rows_, most_variables, self.n_rows_, ROWS_EACH)


@dataclass(eq=False, repr=False, kw_only=True)
class IAMBLearner(BlanketLearner):
    """The incremental association Markov blanket (Tsamardinos, Aliferis, Statnikov 2003).

    The feature most associated with the target given all that joined before joins, while there is one. Then those go,
    in order, that are independent of the target given all others. A batch method: the columns are held until the last
    has come. Scores are -ln p of the test that let a feature in.

    Parameters
    ----------
    measure : {"auto", "fisher_z", "g2", "chi2"}, default="auto"
        The test, as in OSFS. One that has fewer than five rows for each degree of freedom by counts, or for each
        variable by correlation, is not taken: then nothing joins, and nothing goes.
    alpha : float, default=0.01
        The level of the tests.
    task : {"auto", "classification", "regression"}, default="auto"
        As in SAOLA.
    """

    method: ClassVar[str] = "iamb"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"measure": "fisher_z"},
        {"measure": "chi2", "alpha": 0.05},
    )

    measure: str = "auto"
    alpha: float = 0.01
    task: str = "auto"

    def check_parameters(self) -> None:
        super().check_parameters()
        require_test(self.measure, self.alpha)

    def _choose(self, state: GatheredState) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        tests = self._tests(2)
        joined, strengths, variables = grow_blanket(self._columns(state), tests, self.memory.target.weights)
        stays = shrink_blanket(variables, tests, joined.size)
        return joined[stays], strengths[stays]


@dataclass(eq=False, repr=False, kw_only=True)
class MMMBLearner(BlanketLearner):
    """The max-min Markov blanket (Tsamardinos, Aliferis, Statnikov 2003): parents and children, then spouses.

    Next among the parents and children is the feature whose least association with the target, given sets of those
    found, is largest; what some set makes independent of the target goes. Each of them has parents and children of its
    own: one that the target depends on given the child and the set that made the two independent is a spouse. A batch
    method: the columns are held until the last has come. Scores are -ln p, the least of a parent's or child's tests.

    Parameters
    ----------
    measure : {"auto", "fisher_z", "g2", "chi2"}, default="auto"
        The test, as in OSFS. One that has fewer than five rows for each degree of freedom by counts, or for each
        variable by correlation, is not taken: it lets nothing in and makes nothing go.
    alpha : float, default=0.01
        The level of the tests.
    max_condition : int, default=3
        The largest set of features to condition on, but for the child; time grows with what is found to that power.
    task : {"auto", "classification", "regression"}, default="auto"
        As in SAOLA.
    """

    method: ClassVar[str] = "mmmb"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"measure": "fisher_z", "max_condition": 2},
        {"measure": "chi2", "alpha": 0.05},
    )

    measure: str = "auto"
    alpha: float = 0.01
    max_condition: int = 3
    task: str = "auto"

    def check_parameters(self) -> None:
        super().check_parameters()
        require_test(self.measure, self.alpha)
        require_condition(self.max_condition)

    def _choose(self, state: GatheredState) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        columns, weights = self._columns(state), self.memory.target.weights
        tests = self._tests(self.max_condition + 3)
        target = state.ids.size
        near, least, separators, n_separators = parents_and_children(
            columns, tests, target, self.max_condition, weights
        )
        scores = {int(column): float(least[column]) for column in near}
        spouses: dict[int, float] = {}
        for child in near.tolist():
            family, *_ = parents_and_children(columns, tests, child, self.max_condition, weights)
            for column in set(family.tolist()) - {target, *scores}:
                given = separators[column, : n_separators[column]]
                if child not in given:
                    given = np.append(given, child)
                    strength = association_of_columns(columns, tests, column, target, given, weights)
                    if strength > spouses.get(column, 0.0):
                        spouses[column] = strength
        found = scores | spouses
        return np.array(list(found), np.int64), np.array(list(found.values()))
