"""What a learner of columns has learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.types import F64, I64
from ...selection import Selection
from ...targets import TASK_OF_KIND
from ..base import Findings, Results
from ..diagnosis import Look, Remark, checksums_of
from ..prediction import LinearModel
from ..serial import alone
from .column_warnings import COPIES, Noted, remarks_of
from .rules import CopyDropper


class ColumnResults(Results):
    """What a learner of columns has learned; the selection is read as if no column were to come."""

    def __init__(self, learner: Any) -> None:
        super().__init__(learner)
        self.n_rows_, self.n_nonzero_ = self.memory.target.n_rows, int(self.memory.counts[1])
        self.rule = learner.rule
        self.n_features_seen_ = int(self.memory.counts[0])  # that were offered, each once
        self.n_constant_ = int(self.memory.counts[2])  # that never vary, or have no value: none is ever selected

    @alone
    def settled(self) -> Any:
        """Return the state as if no feature were to come."""
        memory = self.memory
        if memory.settled is None:
            memory.settled = self.rule.finish(memory.state)
        return memory.settled

    def selected(self) -> tuple[I64, F64]:
        ids, scores = self.rule.kept(self.settled())
        order = np.argsort(ids)
        return ids[order], scores[order]

    @alone
    def selection(self) -> Selection:
        """Return the selected features, with scores, names and groups; its size is that of the selection."""
        (indices, scores), known, state = self.selected(), self.memory.names, self.settled()
        names = np.array([known.get(feature, f"x{feature}") for feature in indices.tolist()], object) if known else None
        groups = self.rule.groups(state)
        if groups is None:
            return Selection(indices, scores, names)
        groups = groups[np.argsort(self.rule.kept(state)[0])]
        titles = self.memory.titles_of_groups(groups) if self.memory.group_names else None
        return Selection(indices, scores, names, groups if titles is None else np.array(titles, object))

    @alone
    def kept_now(self) -> tuple[I64, F64] | None:
        kept: tuple[I64, F64] = self.rule.kept_now(self.memory.state)
        return kept

    def class_rows(self) -> dict[Any, int] | None:
        rows: dict[Any, int] | None = self.memory.target.class_rows()
        return rows

    # ---- attributes that some methods have

    @property
    def counts_(self) -> dict[str, int]:
        """Return what became of the features: kept; irrelevant; redundant, dropped on arrival; replaced, dropped later.

        Copies that were dropped are among the redundant ones, and so is, with ``n_features_to_select``, a newcomer that
        is less relevant than all of a full selection.
        """
        counts: dict[str, int] | None = self.rule.counted(self.settled()).get("counts")
        if counts is None:
            raise AttributeError(f"{self.method.name} does not count what becomes of features")
        return counts

    @property
    def measures_(self) -> dict[str, int]:
        """Return how many relevant features were measured by what."""
        measures: dict[str, int] | None = self.rule.counted(self.memory.state).get("measures")
        if measures is None:
            raise AttributeError(f"{self.method.name} measures all features alike")
        return measures

    @property
    def n_duplicates_(self) -> int:
        """Return how many features were dropped because they are equal to a kept one in every row."""
        if not isinstance(self.rule, CopyDropper):
            raise AttributeError(f"{self.method.name} does not look for copies")
        return int(self.memory.noted.get(COPIES, Noted()).count)

    @property
    def penalty_(self) -> float:
        """Return the penalty that was reached."""
        return float(self.memory.state.penalty[0])

    @alone
    def linear_model(self) -> LinearModel:
        model: LinearModel | None = self.rule.linear_model(self.settled())
        return super().linear_model() if model is None else model

    # ---- what is reported

    @property
    def advice_if_empty(self) -> str:  # type: ignore[override]
        varies = self.n_constant_ < self.n_features_seen_
        return (self.rule.advice(self.settled()) if varies else None) or Results.advice_if_empty

    @alone
    def diagnosis(self, look: Look) -> list[Remark]:
        return [*super().diagnosis(look), *remarks_of(self.memory.noted)]

    def remarks(self, selection: Selection, look: Look) -> list[Remark]:
        return [*super().remarks(selection, look), *self.rule.remarks(self.memory.state)]

    def evidence(self, selection: Selection) -> F64 | None:
        state = self.settled()
        held = self.rule.held(state)
        return None if held is None else checksums_of(held[np.argsort(self.rule.kept(state)[0])])[:, None]

    def title(self, feature: int) -> str:
        title: str = self.memory.title(feature)
        return title

    @alone
    def findings(self) -> Findings:
        state, groups = self.settled(), self.selection().groups
        details = {"task": TASK_OF_KIND[self.memory.target.kind], "constant": self.n_constant_}
        if groups is not None:
            details["groups"] = groups.tolist()
        if isinstance(self.rule, CopyDropper):
            details["duplicates"] = self.n_duplicates_
        counted, model = self.rule.counted(state), self.rule.linear_model(state)
        details |= {"counts": counted["counts"]} if counted else {}
        details |= {} if model is None else model.details()
        return Findings(measures=counted.get("measures"), details={**details, **self.rule.details(state)})
