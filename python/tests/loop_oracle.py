"""The rules of ``determined._runtime_api`` written down a second time, to compare the C++ ones with."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoopConfig:
    scheduling_unit: int = 100
    min_validation_period: int = 0
    min_checkpoint_period: int = 0
    checkpoint_policy: str = "best"
    perform_initial_validation: bool = False
    smaller_is_better: bool = True


@dataclasses.dataclass(kw_only=True)
class LoopState:
    batches_trained: int = 0
    batches_validated: int = -1
    batches_checkpointed: int = -1
    operations_done: int = 0
    best: float | None = None
    validation_is_best: bool = False

    def validate(self, metric: float, smaller_is_better: bool, experiment_best: float | None = None) -> None:
        def beats(other: float | None) -> bool:
            return other is not None and (other < metric if smaller_is_better else other > metric)

        self.batches_validated = self.batches_trained
        own_best = not math.isnan(metric) and not beats(self.best)
        self.validation_is_best = own_best and not beats(experiment_best)
        if own_best:
            self.best = metric

    def to_dict(self) -> dict[str, int | float | bool | None]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> LoopState:
        return LoopState(**values)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Action:
    kind: str
    batches: int = 0
    reason: str = ""
    length: int = 0
    preempted: bool = False


def next_action(
    config: LoopConfig, state: LoopState, lengths: Sequence[int], closed: bool, preempt: bool, stop_requested: bool
) -> Action:
    trained = state.batches_trained
    unsaved = trained > max(state.batches_checkpointed, 0)
    validated = state.batches_validated == trained

    def due(period: int, last: int) -> bool:
        return period > 0 and trained // period > max(last, 0) // period

    if preempt or stop_requested:
        if unsaved:
            return Action(kind="checkpoint", reason="preempt" if preempt else "stop")
        return Action(kind="exit", preempted=preempt)
    if config.perform_initial_validation and trained == 0 and not validated:
        return Action(kind="validate")
    wanted = config.checkpoint_policy == "all" or (config.checkpoint_policy == "best" and state.validation_is_best)
    if validated and unsaved and wanted:
        return Action(kind="checkpoint", reason="validation")
    if not validated and due(config.min_validation_period, state.batches_validated):
        return Action(kind="validate")
    if unsaved and due(config.min_checkpoint_period, state.batches_checkpointed):
        return Action(kind="checkpoint", reason="period")
    if state.operations_done >= len(lengths):
        if not closed:
            return Action(kind="wait")
        return Action(kind="checkpoint", reason="end") if unsaved else Action(kind="exit")
    length = lengths[state.operations_done]
    if trained >= length:
        if unsaved:
            return Action(kind="checkpoint", reason="operation")
        if not validated:
            return Action(kind="validate")
        return Action(kind="complete_operation", length=length)
    batches = min(length - trained, max(config.scheduling_unit, 1))
    for period in (config.min_validation_period, config.min_checkpoint_period):
        if period > 0:
            batches = min(batches, period - trained % period)
    return Action(kind="train", batches=batches)
