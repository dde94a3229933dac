"""Runs a Keras trial: calls the model's training function for each batch that the loop asks for."""

from __future__ import annotations

import itertools
import logging
import pathlib
import pickle
import sys
from typing import Any

import h5py
import numpy as np
from keras.src.engine import data_adapter

from determined import _metrics
from determined._compat import zip_strict
from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._tensorflow import _rng
from determined._tensorflow._controller import TensorFlowController
from determined._tensorflow._framework import tf
from determined._tensorflow._random import seeds
from determined._tensorflow._tuning import without_tuning
from determined.common import check
from determined.errors import InvalidExperimentException
from determined.keras import _data, callbacks
from determined.keras._context import TFKerasTrialContext
from determined.keras._trial import TFKerasTrial
from determined.keras._weights import WEIGHTS, take

logger = logging.getLogger("determined.keras")

_OPTIMIZERS = "determined-keras-optimizer-weights.h5"


class TFKerasTrialController(TensorFlowController):
    """The controller of a Keras trial; each process has one."""

    family = "TFKerasTrial"
    format = "saved_weights"

    def __init__(self, trial: TFKerasTrial, context: TFKerasTrialContext, source: SourceSnapshot | None = None) -> None:
        super().__init__(trial, context, source)
        name = type(trial).__name__
        training = trial.build_training_data_loader()
        validation = trial.build_validation_data_loader()
        self._model = trial.build_model()
        if context.model is None or self._model is not context.model:
            raise InvalidExperimentException(f"{name}.build_model() must return what context.wrap_model() returned")
        if not context.compiled:
            raise InvalidExperimentException(f"{name}.build_model() must compile the model after context.wrap_model()")
        batch = context.get_per_slot_batch_size()
        self._training: Any = self._source_of(
            training, _data.batches_of(training, batch, f"{name}.build_training_data_loader()")
        )
        self._validation: Any = self._source_of(
            validation, _data.batches_of(validation, batch, f"{name}.build_validation_data_loader()")
        )
        self._given = trial.keras_callbacks()
        check.is_instance(self._given, (list, tuple), f"result of {name}.keras_callbacks()")
        for place, one in enumerate(self._given):
            if not isinstance(one, tf.keras.callbacks.Callback):
                check.fail(
                    f"{one!r} as item {place} of the result of {name}.keras_callbacks()",
                    "a callback of tf.keras or of determined.keras.callbacks",
                )
        self._own = [one for one in self._given if isinstance(one, callbacks.Callback)]
        self._callbacks: Any = None
        self._batches: Any = None
        self._training_shapes: Any = None
        self._validation_shapes: Any = None
        self._epoch_length = self._length_of_epoch()

    @classmethod
    def prepare_process(cls, env: EnvContext, threads: int) -> None:
        if not tf.executing_eagerly():
            raise InvalidExperimentException(
                "a TFKerasTrial needs the behavior of TensorFlow 2, which was turned off in this process (by an "
                "Estimator, by Tensorpack or by disable_v2_behavior())"
            )
        if not env.managed_training:
            return
        _rng.prepare_process(env, threads)
        tf.keras.utils.set_random_seed(env.trial_seed % 2**32)

    def _source_of(self, data: Any, batches: _data.Batches | None) -> Any:
        context = self._context
        if batches is None and not (context.dataset_wrapped or context.experimental.training_cached):
            raise InvalidExperimentException(
                "pass a tf.data.Dataset through context.wrap_dataset() right after creating it"
            )
        return data if batches is None else batches

    def _length_of_epoch(self) -> int:
        """The number of batches in an epoch; 0 if it is unknown."""
        env = self._context.env
        if (records := env.experiment_config.get_records_per_epoch()) > 0:
            return max(1, int(records) // int(env.global_batch_size))
        if isinstance(self._training, _data.Batches):
            return max(1, int(self._training.count) // int(self._context.distributed.size))
        return max(0, int(self._training.cardinality().numpy()))

    # ---- the start ----

    def _begin(self, checkpoint: str | None, own: dict[str, Any], *, weights_only: bool) -> None:
        context, model = self._context, self._model
        self._training_shapes, self._validation_shapes = self._shapes(self._training), self._shapes(self._validation)
        self._batches = iter(self._training_set())
        model.make_train_function()
        seeds.set_batch(self._trained)
        if self._training_shapes is not None:
            self._build()
        if model.run_eagerly:
            self._build_eagerly()
        else:  # traced before generators are restored, so that tracing draws the same numbers in every process
            model.train_function.get_concrete_function(self._batches)
        if checkpoint:
            path = pathlib.Path(checkpoint)
            if weights_only:
                logger.info(
                    "loaded %d of the model's %d variables from the other trial's checkpoint",
                    *take(model, str(path / WEIGHTS)),
                )
            else:
                model.load_weights(str(path / WEIGHTS)).expect_partial()
                self._load_optimizers(path / _OPTIMIZERS)
        self._spread(model.weights)
        context.waiting.restore(own.get("waiting", []))
        for generator, state in zip(self._generators(), own.get("generators", [])):
            generator.state.assign(state)
        options = context.fit_options
        self._callbacks = tf.keras.callbacks.CallbackList(
            list(self._given),
            model=model,
            verbose=int(options["verbose"]),
            epochs=sys.maxsize,
            steps=self._epoch_length,
        )
        model.stop_training = False
        self._callbacks.on_train_begin({})
        for one, state in zip(self._own, own.get("callbacks", [])):
            one.load_state(state)

    def _training_set(self) -> Any:
        context, source, options = self._context, self._training, self._context.fit_options
        if isinstance(source, _data.Batches):
            start = self._trained
            data = _data.as_dataset(
                lambda: source.training(
                    seed=context.env.trial_seed,
                    shuffle=bool(options["shuffle"]),
                    start=start,
                    ranks=context.distributed,
                ),
                source.first,
                self._training_shapes,
            )
        else:
            jumps = context.experimental.enter(source, self._trained)
            data = source.repeat().skip(0 if jumps else self._trained)
        if options["class_weight"]:
            data = data.map(data_adapter._make_class_weight_map_fn(options["class_weight"]))
        return without_tuning(data)

    def _validation_set(self) -> Any:
        source, ranks = self._validation, self._context.distributed
        if isinstance(source, _data.Batches):
            shapes = self._validation_shapes
            return without_tuning(_data.as_dataset(lambda: source.validation(ranks), source.first, shapes))
        return without_tuning(source)

    def _shapes(self, source: Any) -> Any:
        """The shapes of batches if these may differ in more than the number of records; otherwise None."""
        if not isinstance(source, _data.Batches) or source.alike:
            return None
        return _data.open_shapes(source.first, self._model)

    def _build(self) -> None:
        """Creates the variables of a model that takes its input shape from the first batch."""
        if not self._model.built:
            source = self._training
            first = source.first if isinstance(source, _data.Batches) else next(iter(without_tuning(source)))
            x, _, _ = data_adapter.unpack_x_y_sample_weight(first)
            self._model(x, training=False)

    def _build_eagerly(self) -> None:
        model = self._model
        self._build()
        build = getattr(model.optimizer, "build", None) or model.optimizer._create_all_weights
        build(model.trainable_variables)

    def _spread(self, variables: list[Any]) -> None:
        """Sets the variables of every rank to the values of rank 0."""
        ranks = self._context.distributed
        if ranks.size == 1 or not variables:
            return
        values = ranks.broadcast([one.numpy() for one in variables] if ranks.is_chief else None)
        if not ranks.is_chief:
            for variable, value in zip_strict(variables, values):
                variable.assign(value)

    # ---- training and validation ----

    def train(self, batches: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        context, model = self._context, self._model
        context.distributed.note(f"training the batches {self._trained} to {self._trained + batches - 1}")
        self._spread(model.non_trainable_weights)
        for one in self._own:
            one.on_train_workload_begin(self._trained, batches, {})
        model.reset_metrics()
        rows = [self._train_batch() for _ in range(batches)]
        if context.distributed.size > 1 and context.env.experiment_config.average_training_metrics():
            rows = _metrics.mean_over_ranks(context.distributed.allgather(rows))
        for one in self._own:
            one.on_train_workload_end(self._trained, rows[-1])
        return dict(rows[-1]), rows  # Keras's metrics are already running means

    def _train_batch(self) -> dict[str, Any]:
        length = self._epoch_length
        epoch, place = divmod(self._trained, length) if length else (0, self._trained)
        if length and place == 0:
            self._callbacks.on_epoch_begin(epoch, {})
        self._callbacks.on_train_batch_begin(place, {})
        seeds.set_batch(self._trained)
        try:
            logs = self._model.train_function(self._batches)
        except (StopIteration, tf.errors.OutOfRangeError):
            raise RuntimeError("the training data set is empty") from None
        self._trained += 1
        row = _plain(logs)
        self._callbacks.on_train_batch_end(place, row)
        if length and place == length - 1:
            self._callbacks.on_epoch_end(epoch, {})
        self._look_for_stop()
        return row

    def _look_for_stop(self) -> None:
        if self._model.stop_training:
            self._model.stop_training = False
            self._context.set_stop_requested(True)

    def validate(self) -> dict[str, Any]:
        context, model = self._context, self._model
        context.distributed.note(f"validating after batch {self._trained}")
        with _rng.untouched():
            self._spread(model.non_trainable_weights)
            model.make_test_function()
            self._callbacks.on_test_begin({})
            model.reset_metrics()
            steps = 1 if context.env.test_mode else context.fit_options["validation_steps"]
            iterator = iter(self._validation_set())
            logs = None
            for number in itertools.count() if steps is None else range(steps):
                self._callbacks.on_test_batch_begin(number, {})
                try:
                    logs = model.test_function(iterator)
                except (StopIteration, tf.errors.OutOfRangeError):
                    break
                self._callbacks.on_test_batch_end(number, _plain(logs))
            if not any(context.distributed.allgather(logs is not None)):
                check.fail("no validation batches", "at least one")
            found = _plain(self._over_ranks(logs))
            self._callbacks.on_test_end(found)
            self._look_for_stop()
        return {f"val_{name}": value for name, value in found.items()}

    def _over_ranks(self, logs: Any) -> Any:
        """Combines metrics over ranks: Keras's own exactly, from the sum of their states; others by their mean."""
        ranks, model = self._context.distributed, self._model
        if ranks.size == 1:
            return logs
        mine = {name: float(np.mean(value)) for name, value in (_plain(logs) if logs is not None else {}).items()}
        by_rank = [one for one in ranks.allgather(mine) if one]
        result = {name: float(np.mean([one[name] for one in by_rank])) for name in by_rank[0]}
        additive = [one for one in model.metrics if type(one).__module__.startswith("keras.")]
        parts = ranks.allgather([[variable.numpy() for variable in one.variables] for one in additive])
        for place, metric in enumerate(additive):
            for number, variable in enumerate(metric.variables):
                variable.assign(
                    np.sum([part[place][number] for part in parts], axis=0, dtype=variable.dtype.as_numpy_dtype)
                )
        exact = _plain(model.get_metrics_result())
        names = {one.name for one in additive}
        return {name: exact[name] if name in exact and name in names else value for name, value in result.items()}

    # ---- checkpoints ----

    def _write(self, directory: pathlib.Path) -> None:
        self._model.save_weights(str(directory / WEIGHTS), save_format="tf")
        with h5py.File(directory / _OPTIMIZERS, "w") as file:
            for place, optimizer in enumerate(self._context.optimizers):
                group = file.create_group(f"optimizer-{place}")
                for number, variable in enumerate(_variables(optimizer)):
                    group.create_dataset(f"{number:05}", data=variable.numpy())

    def _load_optimizers(self, path: pathlib.Path) -> None:
        with h5py.File(path, "r") as file:
            for place, optimizer in enumerate(self._context.optimizers):
                saved = [value[()] for _, value in sorted(file[f"optimizer-{place}"].items())]
                variables = _variables(optimizer)
                if [one.shape for one in saved] != [tuple(one.shape) for one in variables]:
                    check.fail(
                        f"a checkpoint whose optimizer {place} has {len(saved)} variables",
                        f"{len(variables)} variables, as in this trial",
                        "a trial can only resume with the models, optimizers and shapes that it was saved with",
                    )
                for variable, value in zip_strict(variables, saved):
                    variable.assign(value)

    def _own_state(self) -> dict[str, Any]:
        return {
            **super()._own_state(),
            "callbacks": [_state_of(one) for one in self._own],
            "waiting": self._context.waiting.state(),
            "generators": [one.state.numpy() for one in self._generators()],
        }

    def _generators(self) -> list[Any]:
        """The generators of layers such as ``RandomFlip``, which Keras does not save in its checkpoints."""
        layers = self._model._flatten_layers()
        found = [getattr(getattr(layer, "_random_generator", None), "_generator", None) for layer in layers]
        return [one for one in found if isinstance(one, tf.random.Generator)]

    def _written(self, directory: pathlib.Path) -> None:
        for one in self._own:
            one.on_checkpoint_end(str(directory))

    def close(self) -> None:
        self._batches = None
        if self._callbacks is not None:
            given, self._callbacks = self._callbacks, None
            if sys.exc_info()[0] is None:
                given.on_train_end({})


def _state_of(callback: callbacks.Callback) -> Any:
    state = callback.get_state()
    try:
        pickle.dumps(state, protocol=4)
    except Exception as error:
        check.fail(
            f"a state that cannot be pickled ({error}) from {type(callback).__name__}.get_state()",
            "numbers, strings, arrays, and lists and dicts of them",
        )
    return state


def _variables(optimizer: Any) -> list[Any]:
    return list(optimizer.variables())


def _plain(logs: Any) -> dict[str, Any]:
    found = {}
    for name, value in logs.items():
        value = np.asarray(value)
        found[name] = value.item() if value.ndim == 0 else value
    return found


TFKerasTrial.trial_controller_class = TFKerasTrialController
