"""Alpha-investing (Zhou, Foster, Stine, Ungar 2006), a rival of SAOLA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...kernels.columns.investing import KEPT, SEEN, InvestingState, invest_in_columns
from ...state import empty
from ...targets import BOTH, Kind, Target
from ..requirements import is_number, require
from .base import ColumnLearner
from .centring import centred
from .parts import with_more_slots
from .statistics import advice_on_strictness

FIRST_SLOTS = 16
LARGEST_WEALTH = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class AlphaInvestingLearner(ColumnLearner[InvestingState]):
    """Streamwise regression (Zhou, Foster, Stine, Ungar 2006): keeps what improves a model more than chance would.

    Every test spends some wealth, every feature that is kept earns some: so tests can go on for as long as features
    come, and few are kept that mean nothing. What is kept stays. Labels count as numbers.

    Parameters
    ----------
    wealth : float, default=0.5
        What there is to spend at the start.
    payout : float, default=0.5
        What a kept feature earns.
    task : {"auto", "classification", "regression"}, default="auto"
        As in SAOLA; labels count as numbers in any case.
    """

    method: ClassVar[str] = "alpha-investing"
    targets: ClassVar[frozenset[Kind]] = BOTH

    wealth: float = 0.5
    payout: float = 0.5
    task: str = "auto"

    def check_parameters(self) -> None:
        super().check_parameters()
        fits = is_number(self.wealth) and 0 < self.wealth <= LARGEST_WEALTH
        require(fits, "wealth", self.wealth, "above 0, and 1 at most")
        require(is_number(self.payout) and 0 < self.payout <= 1, "payout", self.payout, "above 0, and 1 at most")

    def _start(self, target: Target) -> InvestingState:
        state = empty(InvestingState, slots=FIRST_SLOTS, rows=target.n_rows)
        state.residual[:], state.wealth[0] = target.numbers, self.wealth
        state.error[0], state.counts[SEEN] = target.numbers @ target.numbers, 1
        return state

    def _offer(self, state: InvestingState, block: ColumnBlock) -> InvestingState:
        columns = block.indptr, block.indices, centred(block), block.ids
        done = 0
        while done < block.n_columns:
            if state.counts[KEPT] == state.ids.size:
                state = self._grown(with_more_slots(state))
            done = invest_in_columns(state, float(self.payout), *columns, done)
        return state

    def _kept(self, state: InvestingState) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        kept = state.counts[KEPT]
        return state.ids[:kept], state.scores[:kept]

    def _advice_if_too_strict(self) -> str:
        finding = "no feature improves the fit more than chance would"
        return advice_on_strictness(finding, "wealth", float(self.wealth), LARGEST_WEALTH)

    def _check_state(self, state: InvestingState, sizes: dict[str, int]) -> None:
        if state.counts[KEPT] > sizes["slots"]:
            raise ValueError("it keeps more features than it has slots")
        if not np.isclose(state.error[0], state.residual @ state.residual, rtol=1e-6, atol=0.0):
            raise ValueError("its error is not that of its residual")
