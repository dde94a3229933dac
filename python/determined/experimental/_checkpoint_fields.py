"""The fields of a checkpoint, apart from its files."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from determined.experimental._resource import comparable, numbers


class ModelFramework(enum.Enum):
    """The framework that wrote a checkpoint."""

    PYTORCH = 1
    TENSORFLOW = 2


class CheckpointState(enum.Enum):
    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    PARTIALLY_DELETED = "STATE_PARTIALLY_DELETED"


class DownloadMode(enum.Enum):
    """From where :meth:`Checkpoint.download` gets the files."""

    DIRECT = "direct"
    """From the storage, as this machine accesses it."""
    MASTER = "master"
    AUTO = "auto"
    """From the storage if it is accessible from here, otherwise from the master."""


@dataclasses.dataclass(frozen=True)
class CheckpointTrainingMetadata:
    """Where a checkpoint comes from. Metrics are those reported at the checkpoint's number of batches."""

    experiment_config: dict[str, Any]
    experiment_id: int | None
    trial_id: int | None
    hparams: dict[str, Any]
    training_metrics: dict[str, Any]
    validation_metrics: dict[str, Any]
    searcher_metric: float | None

    @classmethod
    def of(cls, training: Mapping[str, Any]) -> CheckpointTrainingMetadata:
        return cls(
            experiment_config=training.get("experimentConfig") or {},
            experiment_id=training.get("experimentId"),
            trial_id=training.get("trialId"),
            hparams=training.get("hparams") or {},
            training_metrics=numbers((training.get("trainingMetrics") or {}).get("avgMetrics")),
            validation_metrics=numbers((training.get("validationMetrics") or {}).get("avgMetrics")),
            searcher_metric=comparable(training.get("searcherMetric")),
        )


def as_answer(data: Mapping[str, Any]) -> dict[str, Any]:
    """Converts a description in snake_case to the API's spelling; leaves the API's spelling unchanged."""
    names = {
        "task_id": "taskId",
        "allocation_id": "allocationId",
        "report_time": "reportTime",
        "end_time": "reportTime",
        "endTime": "reportTime",
    }
    inner = {
        "experiment_config": "experimentConfig",
        "experiment_id": "experimentId",
        "trial_id": "trialId",
        "experimentConfig": "experimentConfig",
        "experimentId": "experimentId",
        "trialId": "trialId",
        "hparams": "hparams",
        "training_metrics": "trainingMetrics",
        "validation_metrics": "validationMetrics",
        "searcher_metric": "searcherMetric",
    }
    answer = {names.get(name, name): value for name, value in data.items()}
    training = dict(answer.get("training") or {})
    for name, value in {**training, **answer}.items():
        if name in inner:
            training[inner[name]] = value
    metadata = dict(answer.get("metadata") or {})
    for name in ("framework", "format", "determined_version"):
        if data.get(name):
            metadata.setdefault(name, data[name])
    for name in ("batch_number", "batchNumber"):
        if name in data:
            metadata.setdefault("steps_completed", data[name])
    return {**answer, "training": training, "metadata": metadata}
