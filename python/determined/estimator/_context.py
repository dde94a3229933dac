"""The contexts of Estimator trials."""

from __future__ import annotations

from typing import Any

from determined._env import EnvContext
from determined._ranks._distributed import DistributedContext
from determined._tensorflow import _aggregation
from determined._tensorflow._framework import tf, v1
from determined._train_context import TrialContext
from determined.common import check
from determined.estimator import _model_dir, _premade
from determined.estimator._experimental import EstimatorExperimentalContext


class EstimatorContext(TrialContext):
    """The platform's interface for Estimator code, in a trial class or in a script of the Native API.

    ``distributed`` describes the ranks. ``experimental`` has custom metrics and cached data sets.
    """

    def __init__(self, env: EnvContext, distributed: DistributedContext | None = None) -> None:
        v1.disable_v2_behavior()
        _premade.take_both_generations()
        _model_dir.take_ours()
        super().__init__(env, distributed)
        self.experimental = EstimatorExperimentalContext(self)
        self.optimizer_wrapped = False
        self.dataset_wrapped = False

    def __deepcopy__(self, memo: Any) -> EstimatorContext:
        """Returns itself: an Estimator copies its ``params``, which may contain the context."""
        return self

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Registers an optimizer, and returns the one to use. Call it right after creating the optimizer. On several
        slots, it averages gradients over slots; with ``optimizations.aggregation_frequency`` k, it steps on every k-th
        batch with the gradients of all k."""
        if not self.env.managed_training:
            return optimizer
        self.optimizer_wrapped = True
        if isinstance(optimizer, str) and (
            self.distributed.size > 1 or self.env.experiment_config.get_aggregation_frequency() > 1
        ):
            check.fail(
                f"the optimizer {optimizer!r}",
                "an optimizer object",
                "on several slots, or with an aggregation_frequency above 1, wrap_optimizer() does not accept names; "
                "pass an object such as tf.compat.v1.train.AdamOptimizer()",
            )
        return _aggregation.wrap(optimizer, self.env, self.distributed)

    def wrap_dataset(self, dataset: Any, shard_dataset: bool = True) -> Any:
        """Registers a ``tf.data.Dataset``, and returns the one to use. Call it right after creating the data set. On
        several slots, each gets a share of the data; with ``shard_dataset=False``, divide the data yourself."""
        if not self.env.managed_training:
            return dataset
        check.is_instance(dataset, tf.data.Dataset, "wrap_dataset() takes a tf.data.Dataset")
        if self.experimental.training_cached:
            check.fail("both wrap_dataset() and cache_train_dataset()", "one of them", "the cache shards its own data")
        self.dataset_wrapped = True
        ranks = self.distributed
        return dataset.shard(ranks.size, ranks.rank) if shard_dataset and ranks.size > 1 else dataset

    def make_metric(self, metric: Any, reducer: Any, numpy_dtype: Any) -> tuple[Any, Any]:
        """As ``experimental.make_metric``."""
        return self.experimental.make_metric(metric, reducer, numpy_dtype)


class EstimatorTrialContext(EstimatorContext):
    """The context of an ``EstimatorTrial``."""
