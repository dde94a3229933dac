"""The experiment configuration as a trial reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ExperimentConfig(dict[str, Any]):
    """The whole configuration, a dict with getters for what the trial runtime needs."""

    def _section(self, name: str) -> Mapping[str, Any]:
        section = self.get(name)
        return section if isinstance(section, Mapping) else {}

    def debug_enabled(self) -> bool:
        return bool(self.get("debug", False))

    def scheduling_unit(self) -> int:
        return int(self.get("scheduling_unit") or self.get("batches_per_step") or 100)

    def slots_per_trial(self) -> int:
        slots = self._section("resources").get("slots_per_trial", 1) or 1
        return int(slots["min"] if isinstance(slots, Mapping) else slots)  # a range, outside a trial

    def native_parallel_enabled(self) -> bool:
        return bool(self._section("resources").get("native_parallel", False))

    def experiment_seed(self) -> int:
        return int(self._section("reproducibility").get("experiment_seed", 0) or 0)

    def get_data(self) -> dict[str, Any]:
        data = self.get("data")
        return data if isinstance(data, dict) else {}

    def get_searcher_metric(self) -> str | None:
        metric = self._section("searcher").get("metric")
        return None if metric is None else str(metric)

    def smaller_is_better(self) -> bool:
        return bool(self._section("searcher").get("smaller_is_better", True))

    def get_records_per_epoch(self) -> int:
        return int(self.get("records_per_epoch") or 0)

    def get_optimizations_config(self) -> dict[str, Any]:
        return dict(self._section("optimizations"))

    def get_aggregation_frequency(self) -> int:
        return int(self._section("optimizations").get("aggregation_frequency", 1) or 1)

    def average_aggregated_gradients(self) -> bool:
        return bool(self._section("optimizations").get("average_aggregated_gradients", True))

    def average_training_metrics(self) -> bool:
        return bool(self._section("optimizations").get("average_training_metrics", True))

    def gradient_compression(self) -> bool:
        return bool(self._section("optimizations").get("gradient_compression", False))

    def mixed_precision(self) -> str:
        return str(self._section("optimizations").get("mixed_precision", "O0"))

    def profiling_enabled(self) -> bool:
        return bool(self._section("profiling").get("enabled", False))

    def checkpoint_policy(self) -> str:
        return str(self.get("checkpoint_policy") or "best")

    def perform_initial_validation(self) -> bool:
        return bool(self.get("perform_initial_validation", False))

    def period_in_batches(self, name: str, global_batch_size: int) -> int:
        """Returns a period such as ``min_validation_period`` in batches; 0 if it is off.

        Records are divided by the global batch size; an epoch has ``records_per_epoch`` records.
        """
        period = self.get(name)
        if not period:
            return 0
        if isinstance(period, int):
            return period
        (unit, count), *more = period.items()
        if more or unit not in ("batches", "records", "epochs"):
            raise ValueError(f"{name} is {period!r}; it must have exactly one key: batches, records or epochs")
        count = int(count)
        if unit == "batches":
            return count
        records = count
        if unit == "epochs":
            if self.get_records_per_epoch() <= 0:
                raise ValueError(
                    f"{name} is in epochs, which needs records_per_epoch; set it to the number of records of an epoch"
                )
            records = count * self.get_records_per_epoch()
        return max(1, records // global_batch_size) if count > 0 else 0
