"""The contexts of Keras trials."""

from __future__ import annotations

from typing import Any

from determined._env import EnvContext
from determined._ranks._distributed import DistributedContext
from determined._tensorflow import _aggregation
from determined._tensorflow._framework import tf
from determined._train_context import TrialContext
from determined.common import check
from determined.errors import InvalidExperimentException
from determined.keras._experimental import TFKerasExperimentalContext

_FIT = {
    "verbose": True,
    "class_weight": None,
    "workers": 1,
    "use_multiprocessing": False,
    "max_queue_size": 10,
    "shuffle": True,
    "validation_steps": None,
}
_UNSET: Any = object()


class TFKerasContext(TrialContext):
    """The platform's interface for Keras code, in a trial class or in a script of the Native API."""

    def __init__(self, env: EnvContext, distributed: DistributedContext | None = None) -> None:
        super().__init__(env, distributed)
        self.experimental = TFKerasExperimentalContext(self)
        self.model: Any = None
        self.compiled = False
        self.optimizers: list[Any] = []
        self.fit_options: dict[str, Any] = dict(_FIT)
        self.waiting = _aggregation.Waiting()

    def wrap_model(self, model: Any) -> Any:
        """Registers the model, before it is compiled. Compile what this returns."""
        if not self.env.managed_training:
            return model
        check.is_instance(model, tf.keras.Model, "wrap_model() takes a tf.keras.Model")
        if self.model is not None:
            raise InvalidExperimentException("context.wrap_model() was called twice; a TFKerasTrial has one model")
        if model.optimizer is not None:
            raise InvalidExperimentException("call context.wrap_model() before the model's compile()")
        self.model = model
        own = model.compile

        def compile_it(optimizer: Any = "rmsprop", *args: Any, **options: Any) -> Any:
            if options.get("steps_per_execution") not in (None, 1):
                check.fail(
                    f"steps_per_execution={options['steps_per_execution']} in compile()",
                    "1",
                    "the platform counts single batches",
                )
            optimizer = tf.keras.optimizers.get(optimizer)
            if not self.optimizers:
                optimizer = self.wrap_optimizer(optimizer)
            self.compiled = True
            return own(optimizer, *args, **options)

        model.compile = compile_it
        return model

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Registers an optimizer, and returns the one to use. It is saved in checkpoints; on several slots, it averages
        gradients over slots; with ``optimizations.aggregation_frequency`` k, it steps on every k-th batch with the
        gradients of all k. Only needed for optimizers that are not passed to ``compile``."""
        if not self.env.managed_training:
            return optimizer
        optimizer = tf.keras.optimizers.get(optimizer)
        optimizer = _aggregation.wrap(optimizer, self.env, self.distributed, self.waiting)
        self.optimizers.append(optimizer)
        return optimizer

    def wrap_dataset(self, dataset: Any, shard_dataset: bool = True) -> Any:
        """Registers a ``tf.data.Dataset``, and returns the one to use. Call it right after creating the data set. On
        several slots, each gets a share of the data; with ``shard_dataset=False``, divide the data yourself."""
        if not self.env.managed_training:
            return dataset
        check.is_instance(dataset, tf.data.Dataset, "wrap_dataset() takes a tf.data.Dataset")
        if self.experimental.training_cached:
            raise InvalidExperimentException(
                "wrap_dataset() and cache_train_dataset() cannot be used together: the cache shards its own data"
            )
        self.dataset_wrapped = True
        ranks = self.distributed
        return dataset.shard(ranks.size, ranks.rank) if shard_dataset and ranks.size > 1 else dataset

    dataset_wrapped = False

    def configure_fit(
        self,
        verbose: bool | None = None,
        class_weight: Any = _UNSET,
        workers: int | None = None,
        use_multiprocessing: bool | None = None,
        max_queue_size: int | None = None,
        shuffle: bool | None = None,
        validation_steps: Any = _UNSET,
    ) -> None:
        """Sets options of ``model.fit``. Options that are not given keep their values.

        ``shuffle`` shuffles the batches of arrays and sequences in every epoch. ``validation_steps`` is the maximum
        number of batches of a validation. ``workers``, ``use_multiprocessing`` and ``max_queue_size`` have no effect:
        data is read in the trial's process.
        """
        given = {
            "verbose": verbose,
            "workers": workers,
            "use_multiprocessing": use_multiprocessing,
            "max_queue_size": max_queue_size,
            "shuffle": shuffle,
        }
        self.fit_options.update({name: value for name, value in given.items() if value is not None})
        if class_weight is not _UNSET:
            self.fit_options["class_weight"] = class_weight
        if validation_steps is not _UNSET:
            self.fit_options["validation_steps"] = validation_steps


class TFKerasTrialContext(TFKerasContext):
    """The context of a ``TFKerasTrial``."""
