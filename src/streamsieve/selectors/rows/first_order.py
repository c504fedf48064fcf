"""First-order selection: PET and FOFS (Wu, Hoi, Mei, Yu 2017; Wang, Zhao, Hoi, Jin 2014, where FOFS is OFS)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...kernels.rows.batch import Rows
from ...kernels.rows.curve import Curve
from ...kernels.rows.first_order import (
    ON_LOSS,
    ON_MARGIN,
    ON_MISTAKE,
    FirstOrderState,
    first_order_update,
)
from ...kernels.rows.members import KEPT
from ...kernels.rows.partial import PartialState, thin_rows
from ...state import empty
from ..base import ClassWeight, Seed
from ..requirements import require, require_one_of
from .classifier import RowClassifier
from .integrity import check_heap, check_members, check_positions, kept_count
from .limits import PENALTIES, RADII, STEPS, require_between
from .memory import S

ATTRIBUTES = ("all", "random")


class RandomAttributes(RowClassifier[S]):
    """``attributes="random"``: of each row only as many attributes as the budget allows are seen, drawn afresh."""

    attributes: str = "all"

    def check_parameters(self) -> None:
        super().check_parameters()
        require_one_of("attributes", self.attributes, ATTRIBUTES)

    def _inputs(self, block: RowBlock) -> RowBlock:
        if self.attributes == "random":
            keep = np.empty(block.n_nonzero, np.bool_)
            memory = self.memory
            thin_rows(block.indptr, memory.budget, memory.declared_width, memory.attribute_random, keep)
            indptr = np.concatenate([[0], np.cumsum(keep)])[block.indptr]
            block = block.derived(indptr=indptr, indices=block.indices[keep], values=block.values[keep])
        return super()._inputs(block)

    @property
    def needs_width(self) -> bool:
        return self.attributes == "random"


class FirstOrderLearner(RandomAttributes[FirstOrderState]):
    """What PET and FOFS share: weights for kept features alone, in a heap by their size."""

    triggers: ClassVar[dict[str, int]]
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"fit_intercept": False, "curve": True, "class_weight": "balanced"},
        {"normalize": "standard", "forget": 20.0},
    )

    eta: float
    trigger: str

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("eta", self.eta, STEPS)
        require_one_of("trigger", self.trigger, self.triggers)

    def _start(self, budget: int, n_vectors: int) -> FirstOrderState:
        return empty(FirstOrderState, features=0, budget=budget, vectors=n_vectors)

    def _shrinkage(self) -> tuple[float, float]:
        """What all weights are multiplied by before every row, and the radius they are kept in."""
        return 1.0, np.inf

    def _update(self, state: FirstOrderState, ids: NDArray[np.int64], rows: Rows, curve: Curve | None) -> None:
        shrink, radius = self._shrinkage()
        if self.forget is not None:
            shrink *= 2.0 ** (-1.0 / self.forget)
        trigger = self.triggers[self.trigger]
        first_order_update(state, ids, rows, curve, float(self.eta), shrink, radius, trigger)

    def _kept(self, state: FirstOrderState) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        kept, scale = state.counts[KEPT], state.scale[0]
        weights = scale * state.weight[:kept]
        return state.member_id[:kept], weights, np.abs(weights).max(axis=1)

    def _bias(self, state: FirstOrderState) -> NDArray[np.float64]:
        bias: NDArray[np.float64] = state.scale[0] * state.bias[:, 0]
        return bias

    def _check_state(self, state: FirstOrderState, sizes: dict[str, int], ids: NDArray[np.int64]) -> None:
        check_first_order(state, sizes["budget"], ids)


def check_first_order(state: FirstOrderState | PartialState, budget: int, ids: NDArray[np.int64]) -> None:
    """Refuse, with a ValueError, a state whose arrays do not fit one another."""
    kept = kept_count(state.counts, budget)
    if not np.isfinite(state.squares).all():
        raise ValueError("the length of its weights is not a number")
    heap, member_id = state.heap[:kept], state.member_id[:kept]
    check_members(state.slots, 1, state.member[:kept], member_id, ids)
    check_heap(state.key[heap], heap, member_id)
    check_positions(heap, state.heap_position)


class PETLearner(FirstOrderLearner):
    """The perceptron with truncation (Wu et al. 2017, algorithms 1 and 2; Wang et al. 2014, algorithm 1).

    On a mistake the row, times ``eta``, is added to the weights or taken away; then the ``n_features_to_select``
    largest weights stay and the others become 0. Exactly that, but in O(non-zeros x log budget) per row, not
    O(features). Many classes are learned one against the rest with one budget of features for all: a feature counts
    by its largest weight over the classes, so that one that decides a single class well is not lost to one that says
    little about each.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default=100
        How many features to keep; a fraction of a known width; or chosen from the curve.
    eta : float, default=1.0
        The step.
    trigger : {"margin", "mistake"}, default="margin"
        Learn from all rows with a hinge loss above 0 (Wu et al. 2017), or from those predicted wrongly (Wang et al.
        2014), which finds far fewer informative features.
    attributes : {"all", "random"}, default="all"
        "random" sees only as many attributes of each row as the budget, drawn afresh (PE_rand of Wang et al. 2014).
    normalize, fit_intercept, class_weight, forget, curve, n_epochs
        As in SOFS; ``forget`` is a half-life of the weights.
    random_state : int, Generator or None, default=None
        For ``attributes="random"``.
    """

    method: ClassVar[str] = "pet"
    triggers: ClassVar[dict[str, int]] = {"mistake": ON_MISTAKE, "margin": ON_LOSS}

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        eta: float = 1.0,
        trigger: str = "margin",
        attributes: str = "all",
        normalize: bool | str = "auto",
        fit_intercept: bool = True,
        class_weight: ClassWeight = "auto",
        forget: float | None = None,
        curve: bool | Sequence[int] = False,
        n_epochs: int = 1,
        random_state: Seed = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.eta = eta
        self.trigger = trigger
        self.attributes = attributes
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.forget = forget
        self.curve = curve
        self.n_epochs = n_epochs
        self.random_state = random_state


class FOFSLearner(FirstOrderLearner):
    """First-order online feature selection by sparse projection (OFS of Wang et al. 2014, algorithm 3).

    Gradient descent on the hinge loss with L2 regularisation: all weights shrink at every row; a row inside the
    margin is added, the weights are projected to a ball, and the ``n_features_to_select`` largest stay. O(non-zeros x
    log budget) per row: what multiplies all weights is kept apart. Many classes as in PET; the ball is one for all
    classes.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default=100
        How many features to keep; a fraction of a known width; or chosen from the curve.
    eta : float, default=0.5
        The step; 0.2 in Wang et al. 2014.
    regularization : float, default=1e-3
        The papers' lambda; 0.01 in Wang et al. 2014.
    radius : float, default=None
        Of the ball; None is ``1 / sqrt(regularization)``.
    trigger : {"margin", "mistake"}, default="margin"
        Learn from rows inside the margin, or only from those predicted wrongly.
    attributes : {"all", "random"}, default="all"
        "random" sees only as many attributes of each row as the budget, drawn afresh (OFS_rand of
        Wang et al. 2014).
    normalize, fit_intercept, class_weight, forget, curve, n_epochs
        As in SOFS; ``forget`` is a half-life of the weights.
    random_state : int, Generator or None, default=None
        For ``attributes="random"``.
    """

    method: ClassVar[str] = "fofs"
    triggers: ClassVar[dict[str, int]] = {"margin": ON_MARGIN, "mistake": ON_MISTAKE}

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        eta: float = 0.5,
        regularization: float = 1e-3,
        radius: float | None = None,
        trigger: str = "margin",
        attributes: str = "all",
        normalize: bool | str = "auto",
        fit_intercept: bool = True,
        class_weight: ClassWeight = "auto",
        forget: float | None = None,
        curve: bool | Sequence[int] = False,
        n_epochs: int = 1,
        random_state: Seed = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.eta = eta
        self.regularization = regularization
        self.radius = radius
        self.trigger = trigger
        self.attributes = attributes
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.forget = forget
        self.curve = curve
        self.n_epochs = n_epochs
        self.random_state = random_state

    def check_parameters(self) -> None:
        super().check_parameters()
        require_between("regularization", self.regularization, PENALTIES)
        require(self.regularization * self.eta < 1, "regularization", self.regularization, "below 1 / eta")
        if self.radius is not None:
            require_between("radius", self.radius, RADII, "None or ")

    def _shrinkage(self) -> tuple[float, float]:
        free = np.inf if self.regularization == 0 else 1.0 / np.sqrt(self.regularization)
        return 1.0 - self.regularization * self.eta, float(free if self.radius is None else self.radius)
