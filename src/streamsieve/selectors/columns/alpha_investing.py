"""Alpha-investing (Zhou, Foster, Stine, Ungar 2006), a rival of SAOLA."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...blocks import ColumnBlock
from ...kernels.columns.investing import KEPT, SEEN, InvestingState, invest_in_columns
from ...kernels.types import F64, I64
from ...state import empty
from ...targets import BOTH, TASKS
from ..base import Method
from ..parameters import ensure, fits, is_number, one_of, parameter
from .learner import ColumnLearner
from .measures import advice_on_strictness
from .memory import ColumnMemory
from .rules import FIRST_SLOTS, ColumnRule, centred, take_columns

LARGEST_WEALTH = 1.0
WEALTH = fits(lambda value: is_number(value) and 0 < value <= LARGEST_WEALTH, "above 0, and 1 at most")


@dataclass(eq=False, repr=False, kw_only=True)
class AlphaInvestingParameters:
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

    wealth: float = parameter(0.5, WEALTH)
    payout: float = parameter(0.5, WEALTH)
    task: str = parameter("auto", one_of(*TASKS))


class InvestingRule(ColumnRule[InvestingState]):
    """Every test spends some wealth, every feature that is kept earns some."""

    def start(self) -> InvestingState:
        target = self.target
        state = empty(InvestingState, slots=FIRST_SLOTS, rows=target.n_rows)
        state.residual[:], state.wealth[0] = target.numbers, self.params.wealth
        state.error[0], state.counts[SEEN] = target.numbers @ target.numbers, 1
        return state

    def offer(self, memory: ColumnMemory[InvestingState], block: ColumnBlock) -> None:
        given = float(self.params.payout), block.indptr, block.indices, centred(block), block.ids
        take_columns(memory, block.n_columns, lambda state, done: invest_in_columns(state, *given, done))

    def kept(self, state: InvestingState) -> tuple[I64, F64]:
        kept = state.counts[KEPT]
        return state.ids[:kept], state.scores[:kept]

    def advice(self, state: InvestingState) -> str:
        finding = "no feature improves the fit more than chance would"
        return advice_on_strictness(finding, "wealth", float(self.params.wealth), LARGEST_WEALTH)

    def check(self, state: InvestingState, sizes: dict[str, int], n_features: int) -> None:
        ensure(state.counts[KEPT] <= sizes["slots"], "it keeps more features than it has slots")
        same = np.isclose(state.error[0], state.residual @ state.residual, rtol=1e-6, atol=0.0)
        ensure(same, "its error is not that of its residual")


ALPHA_INVESTING = Method("alpha-investing", AlphaInvestingParameters, ColumnLearner, BOTH, rule=InvestingRule)
