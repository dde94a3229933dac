"""Which checkpoint is the best."""

from __future__ import annotations

from collections.abc import Iterable

from determined.experimental._checkpoint import Checkpoint
from determined.experimental._checkpoint_fields import CheckpointState
from determined.experimental._resource import comparable


def best_first(
    checkpoints: Iterable[Checkpoint], sort_by: str | None, smaller_is_better: bool | None
) -> list[Checkpoint]:
    """Returns completed checkpoints with a validation after the same number of batches, best first; of equal ones, the
    newer first.

    Without ``sort_by``, the metric and the direction are the searcher's, and ``smaller_is_better`` is ignored. With it,
    the direction is the searcher's unless given. NaN is never best.
    """
    ranked: list[tuple[float, Checkpoint]] = []
    for checkpoint in checkpoints:
        if checkpoint.state is not CheckpointState.COMPLETED:
            continue
        training = checkpoint.training
        metric = training.searcher_metric if sort_by is None else comparable(training.validation_metrics.get(sort_by))
        if metric is None:
            continue
        searcher = training.experiment_config.get("searcher") or {}
        smaller = searcher.get("smaller_is_better", True)
        if sort_by is not None and smaller_is_better is not None:
            smaller = smaller_is_better
        ranked.append((metric if smaller else -metric, checkpoint))
    ranked.sort(key=lambda entry: (entry[0], -entry[1].batch_number))
    return [checkpoint for _, checkpoint in ranked]
