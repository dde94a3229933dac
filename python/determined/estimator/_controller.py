"""Runs an Estimator trial: keeps its training session open, and runs it for each batch that the loop asks for."""

from __future__ import annotations

import logging
import os
import pathlib
import shutil
import sys
import tempfile
from typing import Any

import numpy as np
from tensorflow.python.training import checkpoint_management, training_util
from tensorflow_estimator.python.estimator import util as estimator_util

from determined import _metrics
from determined._compat import zip_strict
from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._run import _launch
from determined._tensorflow import _board, _exchange, _rng, _scratch
from determined._tensorflow._controller import TensorFlowController
from determined._tensorflow._framework import tf, v1
from determined._tensorflow._random import seeds
from determined._tensorflow._slots import is_slot
from determined._tensorflow._tuning import without_tuning
from determined.common import check
from determined.estimator import _evaluation
from determined.estimator._context import EstimatorTrialContext
from determined.estimator._hooks import ControlHook, RunHook, StopCatcher
from determined.estimator._ordering import before_updates
from determined.estimator._trial import EstimatorTrial

logger = logging.getLogger("determined.estimator")

_LARGE_GRAPH_BYTES = 16 << 20
_LARGE_CONSTANT_BYTES = 64 << 10


class EstimatorTrialController(TensorFlowController):
    """The controller of an Estimator trial; each process has one."""

    family = "EstimatorTrial"
    format = "saved_model"

    def __init__(
        self, trial: EstimatorTrial, context: EstimatorTrialContext, source: SourceSnapshot | None = None
    ) -> None:
        super().__init__(trial, context, source)
        name = type(trial).__name__
        given = trial.build_estimator()
        _expect(given, v1.estimator.Estimator, "tf.estimator.Estimator", f"result of {name}.build_estimator()")
        self._train_spec = trial.build_train_spec()
        _expect(
            self._train_spec, tf.estimator.TrainSpec, "tf.estimator.TrainSpec", f"result of {name}.build_train_spec()"
        )
        self._eval_spec = trial.build_validation_spec()
        _expect(
            self._eval_spec, tf.estimator.EvalSpec, "tf.estimator.EvalSpec", f"result of {name}.build_validation_spec()"
        )
        self._serving = trial.build_serving_input_receiver_fns()
        check.is_instance(self._serving, dict, f"result of {name}.build_serving_input_receiver_fns()")
        for key in self._serving:
            if not isinstance(key, str) or key in ("", ".", "..", "code") or "/" in key:
                check.fail(
                    f"the name {key!r} in {name}.build_serving_input_receiver_fns()",
                    "a valid directory name other than code",
                )
        self._model_dir = tempfile.mkdtemp(prefix="estimator-", dir=_scratch.root())
        self._estimator = self._rebuilt(given)
        self._run_hooks = [hook for hook in self._train_spec.hooks if isinstance(hook, RunHook)]
        self._not_additive: set[str] = set()
        self._graph: Any = None
        self._monitored: Any = None
        self._session: Any = None
        self._fetches: dict[str, Any] = {}
        self._writer: Any = None
        self._checked = False
        self._started = False

    @classmethod
    def prepare_process(cls, env: EnvContext, threads: int) -> None:
        v1.disable_v2_behavior()
        _rng.prepare_process(env, threads)

    def _rebuilt(self, given: Any) -> Any:
        """A new Estimator with the user's model function, which does not save checkpoints itself."""
        config = given.config
        for which in ("train_distribute", "eval_distribute"):
            if getattr(config, f"_{which}", None) is not None:
                check.fail(
                    f"a RunConfig with {which}",
                    "one without",
                    "set resources.slots_per_trial to train on several slots",
                )
        threads = _launch.threads(os.environ)
        config = config.replace(
            model_dir=self._model_dir,
            tf_random_seed=self._context.env.trial_seed,
            save_checkpoints_steps=None,
            save_checkpoints_secs=1 << 30,
            session_config=_rng.session_config(config.session_config, self._context.env, threads),
        )

        def model_fn(features: Any, labels: Any, mode: Any, params: Any, config: Any) -> Any:
            spec = given._call_model_fn(features, labels, mode, config)
            if mode == tf.estimator.ModeKeys.EVAL:
                self._not_additive = _evaluation.keras_metrics_not_additive(spec.eval_metric_ops)
                self._context.experimental.hear_names(spec.eval_metric_ops)
            return spec

        return v1.estimator.Estimator(
            model_fn, config=config, params=given.params, warm_start_from=given._warm_start_settings
        )

    # ---- the training session ----

    def _begin(self, checkpoint: str | None, own: dict[str, Any], *, weights_only: bool) -> None:
        context = self._context
        if checkpoint:
            for hook in self._run_hooks:
                hook.on_checkpoint_load(checkpoint)
        self._started = True
        self._graph = tf.Graph()
        with self._graph.as_default(), self._graph.device(self._estimator._device_fn):
            self._build(checkpoint if not weights_only else None)
        variables = self._graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
        if weights_only and checkpoint:
            self._load_weights(checkpoint, variables)
        _exchange.spread(self._session, variables, context.distributed)
        if own.get("local_variables"):
            self._restore_locals(own["local_variables"])
        if self._trained:
            logger.info("skipping the input up to batch %d", self._trained)
            self._session.run(self._next)  # the last batch before the interruption

    def _build(self, checkpoint: str | None) -> None:
        context, graph, estimator = self._context, self._graph, self._estimator
        v1.set_random_seed(context.env.trial_seed)
        estimator._create_and_assert_global_step(graph)
        training_util._get_or_create_global_step_read(graph)
        placeholder = seeds.placeholder(graph)
        features, labels = self._input()
        spec = estimator._call_model_fn(features, labels, tf.estimator.ModeKeys.TRAIN, estimator.config)
        check.is_instance(spec.loss, tf.Tensor, "the loss of the EstimatorSpec for training")
        if checkpoint is None and estimator._warm_start_settings:
            v1.train.warm_start(*estimator._warm_start_settings)
        scaffold = spec.scaffold or v1.train.Scaffold()
        if not (scaffold.saver or v1.get_collection(v1.GraphKeys.SAVERS)):
            saver = v1.train.Saver(sharded=True, max_to_keep=1, defer_build=True, save_relative_paths=True)
            v1.add_to_collection(v1.GraphKeys.SAVERS, saver)
        self._spec, self._scaffold = spec, scaffold
        metrics = _summaries(graph, spec.loss)
        self._fetches = {"train": spec.train_op, "metrics": before_updates(metrics, spec.train_op)}
        control = ControlHook(
            batch=lambda: self._trained,
            placeholder=placeholder,
            start=self._opened,
            stop=lambda: context.set_stop_requested(True),
        )
        hooks = [
            *self._train_spec.hooks,
            v1.train.NanTensorHook(spec.loss),
            *spec.training_hooks,
            *(spec.training_chief_hooks if context.distributed.is_chief else ()),
            *(self._summary_hooks() if context.distributed.is_chief else ()),
        ]
        creator = v1.train.ChiefSessionCreator(
            scaffold,
            config=estimator.config.session_config,
            checkpoint_filename_with_path=_checkpoint_in(checkpoint) if checkpoint else None,
        )
        self._monitored = v1.train.MonitoredSession(creator, [*hooks, control])

    def _input(self) -> tuple[Any, Any]:
        context = self._context
        dataset = self._estimator._call_input_fn(self._train_spec.input_fn, tf.estimator.ModeKeys.TRAIN)
        if not isinstance(dataset, tf.data.Dataset):
            found = "a tuple" if isinstance(dataset, tuple) else f"a {type(dataset).__name__}"
            check.fail(
                f"{found} from the input_fn of {type(self._trial).__name__}.build_train_spec()",
                "a tf.data.Dataset",
                "features and labels as tensors are not supported: return a data set of (features, labels)",
            )
        if not (context.dataset_wrapped or context.experimental.training_cached):
            check.fail(
                f"an unwrapped data set from the input_fn of {type(self._trial).__name__}.build_train_spec()",
                "one from context.wrap_dataset() or context.experimental.cache_train_dataset()",
                "call it right after creating the data set",
            )
        # Always the same number of operations, because the seeds of later ones depend on it.
        behind = max(0, self._trained - 1)  # the last of them is read when everything is ready
        run_up = 0 if context.experimental.enter(dataset, behind) else behind
        dataset = without_tuning(dataset.repeat().skip(tf.constant(run_up, tf.int64)))
        iterator = v1.data.make_initializable_iterator(dataset)
        self._iterator = iterator
        values = iterator.get_next()
        self._next = tf.group(*tf.nest.flatten(values, expand_composites=True))
        features, labels = estimator_util.parse_iterator_result(values)
        return features, labels

    def _summary_hooks(self) -> list[Any]:
        """Hooks that write the graph's summaries for TensorBoard, as often as the user's RunConfig says."""
        steps = self._estimator.config.save_summary_steps
        if not steps or self._context.env.test_mode or not v1.get_collection(v1.GraphKeys.SUMMARIES):
            return []
        self._writer = v1.summary.FileWriter(_board.directory("train"))
        return [v1.train.SummarySaverHook(save_steps=steps, summary_writer=self._writer, scaffold=self._scaffold)]

    def _opened(self, session: Any) -> None:
        """Called whenever a session was created and its tables and variables were initialized."""
        self._session = session
        session.run(self._iterator.initializer)

    def _load_weights(self, checkpoint: str, variables: list[Any]) -> None:
        """Loads the model of another trial, without optimizer and step counter."""
        reader = v1.train.load_checkpoint(_checkpoint_in(checkpoint))
        shapes = reader.get_variable_to_shape_map()
        slots = {variable.op.name for variable in variables} - self._model_variables(variables)
        wanted = [v for v in variables if v.op.name not in slots and shapes.get(v.op.name) == v.shape.as_list()]
        _exchange.load(self._session, wanted, [reader.get_tensor(v.op.name) for v in wanted])
        logger.info("loaded %d variables of the model from the other trial's checkpoint", len(wanted))

    def _model_variables(self, variables: list[Any]) -> set[str]:
        """The names of the model's variables, without the step counter and the states of optimizers."""
        trained = {v.op.name for v in self._graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES)}
        step = v1.train.get_global_step(self._graph).op.name
        return {
            v.op.name
            for v in variables
            if v.op.name != step and (v.op.name in trained or not is_slot(v.op.name, trained))
        }

    # ---- training and validation ----

    def train(self, batches: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        context = self._context
        context.distributed.note(f"training the batches {self._trained} to {self._trained + batches - 1}")
        self._equalise()
        rows = []
        with self._graph.as_default(), self._graph.device(self._estimator._device_fn):
            for _ in range(batches):
                rows.append(self._train_batch())
        if self._writer is not None:
            self._writer.flush()  # files that exist at a report are stored with it
        if context.distributed.size > 1 and context.env.experiment_config.average_training_metrics():
            rows = _metrics.mean_over_ranks(context.distributed.allgather(rows))
        return _metrics.averages(rows), rows

    def _train_batch(self) -> dict[str, Any]:
        try:
            found = self._monitored.run(self._fetches)
        except tf.errors.OutOfRangeError:
            raise RuntimeError("the training data set is empty") from None
        self._trained += 1
        if not self._checked:
            self._checked = True
            if not self._context.optimizer_wrapped:
                check.fail(
                    f"an unwrapped optimizer in {type(self._trial).__name__}.build_estimator()",
                    "one from context.wrap_optimizer()",
                    "a batch was trained without it; call it right after creating the optimizer",
                )
        return {name: _plain(value) for name, value in found["metrics"].items()}

    def _equalise(self) -> None:
        """Sets untrained variables (statistics of batch normalization) to the values of rank 0 on all ranks."""
        ranks = self._context.distributed
        if ranks.size > 1:
            variables = self._graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
            trained = {v.op.name for v in self._graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES)}
            names = self._model_variables(variables) - trained
            _exchange.spread(self._session, [v for v in variables if v.op.name in names], ranks)

    def validate(self) -> dict[str, Any]:
        context = self._context
        context.distributed.note(f"validating after batch {self._trained}")
        with _rng.untouched(), tempfile.TemporaryDirectory(prefix="evaluation-", dir=_scratch.root()) as directory:
            self._equalise()
            path = self._save_model(pathlib.Path(directory), meta=False)
            hooks: list[Any] = [*self._eval_spec.hooks, StopCatcher(lambda: context.set_stop_requested(True))]
            if context.distributed.size > 1:
                total = _evaluation.SumOverRanks(context.distributed)
                total.additive = lambda variable: variable.name not in self._not_additive
                hooks.append(total)
            counted = _evaluation.CountBatches()
            hooks.append(counted)
            steps = 1 if context.env.test_mode else self._eval_spec.steps
            try:
                metrics = self._estimator.evaluate(self._evaluation_input, steps, hooks, checkpoint_path=path)
            except tf.errors.OpError:
                context.experimental.raise_error_of_reducer()
                raise
        if not any(context.distributed.allgather(counted.batches > 0)):
            check.fail("no validation batches", "at least one")
        if context.distributed.size > 1:
            metrics = _evaluation.over_ranks(metrics, context.distributed)
        return {name: _plain(value) for name, value in metrics.items()}

    def _evaluation_input(self) -> Any:
        given = self._estimator._call_input_fn(self._eval_spec.input_fn, tf.estimator.ModeKeys.EVAL)
        return without_tuning(given) if isinstance(given, tf.data.Dataset) else given

    def _save_model(self, directory: pathlib.Path, *, meta: bool) -> str:
        step = v1.train.get_global_step(self._graph)
        with self._graph.as_default():
            path = self._scaffold.saver.save(
                self._session, str(directory / "model.ckpt"), global_step=step, write_meta_graph=meta
            )
        # Savers of users and of Keras write absolute paths, which are invalid after a resume.
        checkpoint_management.update_checkpoint_state_internal(
            str(directory), str(path), all_model_checkpoint_paths=[str(path)], save_relative_paths=True
        )
        return str(path)

    def _write(self, directory: pathlib.Path) -> None:
        described = self._graph.as_graph_def()
        large = described.ByteSize() > _LARGE_GRAPH_BYTES
        path = self._save_model(directory, meta=not large)
        if large:  # usually because it contains the data set, which does not belong in every checkpoint
            _without_large_constants(described)
        tf.io.write_graph(described, str(directory), "graph.pbtxt")
        with seeds.suspended():
            for name, receiver in self._serving.items():
                self._estimator.export_saved_model(str(directory / name), receiver, checkpoint_path=path)

    def _written(self, directory: pathlib.Path) -> None:
        for hook in self._run_hooks:
            hook.on_checkpoint_end(str(directory))

    def _locals(self) -> list[Any]:
        found = self._graph.get_collection(v1.GraphKeys.LOCAL_VARIABLES)
        return list({variable.name: variable for variable in found}.values())

    def _own_state(self) -> dict[str, Any]:
        variables = self._locals()
        values = self._session.run(variables) if variables else []
        return {
            **super()._own_state(),
            "local_variables": {v.name: value for v, value in zip_strict(variables, values)},
        }

    def _restore_locals(self, saved: dict[str, Any]) -> None:
        known = [variable for variable in self._locals() if variable.name in saved]
        _exchange.load(self._session, known, [saved[variable.name] for variable in known])

    def close(self) -> None:
        try:
            if self._monitored is not None:
                monitored, self._monitored = self._monitored, None
                with self._graph.as_default():
                    monitored.__exit__(*sys.exc_info())  # calls the end() of hooks only after success
        finally:
            try:
                if self._started:
                    self._started = False
                    for hook in self._run_hooks:
                        hook.on_trial_close()
            finally:
                shutil.rmtree(self._model_dir, ignore_errors=True)


def _expect(found: Any, kind: type, called: str, reason: str) -> None:
    if not isinstance(found, kind):
        check.fail(f"a {type(found).__name__}", f"a {called}", reason)


def _without_large_constants(graph: Any) -> None:
    for node in graph.node:
        if node.op == "Const" and node.ByteSize() > _LARGE_CONSTANT_BYTES:
            value = node.attr["value"].tensor
            value.ClearField("tensor_content")


def _summaries(graph: Any, loss: Any) -> dict[str, Any]:
    """The metrics of a training batch: the loss, and every scalar and tensor with a summary in the graph."""
    found: dict[str, Any] = {"loss": loss}
    for summary in graph.get_collection(v1.GraphKeys.SUMMARIES):
        if summary.op.type in ("ScalarSummary", "TensorSummaryV2"):
            name = tf.get_static_value(summary.op.inputs[0])
            if name is not None:
                found.setdefault(
                    name.item().decode() if isinstance(name, np.ndarray) else name.decode(), summary.op.inputs[1]
                )
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0:
        return value.item()
    return value


def _checkpoint_in(directory: str) -> str:
    path = v1.train.latest_checkpoint(directory)
    if path is None:
        raise FileNotFoundError(f"checkpoint {os.path.basename(directory)} does not contain a TensorFlow checkpoint")
    return str(path)


EstimatorTrial.trial_controller_class = EstimatorTrialController
