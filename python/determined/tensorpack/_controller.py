"""Runs a Tensorpack trial: runs a step of its trainer for each batch that the loop asks for."""

from __future__ import annotations

import inspect
import os
import pathlib
import shutil
import sys
import tempfile
from typing import Any

from determined import _metrics
from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._run import _launch
from determined._tensorflow import _aggregation, _exchange, _rng, _scratch
from determined._tensorflow._controller import TensorFlowController
from determined._tensorflow._random import seeds
from determined._tensorflow._slots import is_slot
from determined._train_context import TrialContext
from determined.common import check
from determined.tensorpack._evaluator import Evaluator
from determined.tensorpack._flow import EndlessFrom, Inference, Means, Trainer
from determined.tensorpack._framework import tp, v1
from determined.tensorpack._trial import TensorpackTrial

_EPOCHS_MAX = 10**8  # practically endless; callbacks that estimate the end need a finite number


class TensorpackTrialController(TensorFlowController):
    """The controller of a Tensorpack trial; each process has one."""

    family = "TensorpackTrial"
    format = "checkpoint"

    def __init__(self, trial: TensorpackTrial, context: TrialContext, source: SourceSnapshot | None = None) -> None:
        super().__init__(trial, context, source)
        self._directory = tempfile.mkdtemp(prefix="tensorpack-", dir=_scratch.root())
        tp.logger.set_logger_dir(self._directory, "d")
        self._graph = v1.Graph()
        self._workloads = 0
        self._trainer: Any = None
        self._saver: Any = None
        self._input: Any = None
        self._means: Any = None
        self._inference: Any = None
        self._evaluator: Any = None
        self._cost: Any = None
        self._opened = False

    @classmethod
    def prepare_process(cls, env: EnvContext, threads: int) -> None:
        v1.disable_v2_behavior()
        _rng.prepare_process(env, threads)
        tp.utils.fix_rng_seed(env.trial_seed % 2**31 + env.rank)

    def _call(self, method: str, *args: Any) -> Any:
        """Calls a method of the trial, with the hyperparameters if it has a parameter for them."""
        bound = getattr(self._trial, method)
        parameters = [
            one for one in inspect.signature(bound).parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD
        ]
        required = [one for one in parameters if one.default is one.empty]
        if any(one.name == "hparams" for one in parameters) or len(required) > len(args):
            return bound(self._context.get_hparams(), *args)
        return bound(*args)

    # ---- the start ----

    def _begin(self, checkpoint: str | None, own: dict[str, Any], *, weights_only: bool) -> None:
        context, name = self._context, type(self._trial).__name__
        ranks = context.distributed
        self._workloads = int(own.get("workloads", 0))
        with self._graph.as_default():
            v1.set_random_seed(context.env.trial_seed)
            training = self._trial.build_training_dataflow()
            check.is_instance(training, tp.DataFlow, f"result of {name}.build_training_dataflow()")
            validation = self._trial.build_validation_dataflow()
            if validation is not None:
                check.is_instance(validation, tp.DataFlow, f"result of {name}.build_validation_dataflow()")
            model = self._call("build_model", "horovod" if ranks.size > 1 else "replicated")
            check.is_instance(model, tp.ModelDesc, f"result of {name}.build_model()")
            self._set_up(model, training, validation)
            self._open(checkpoint, weights_only=weights_only)
        variables = self._graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
        _exchange.spread(self._trainer.sess, variables, ranks)
        self._restore_locals(own.get("local_variables", {}))
        with self._graph.as_default(), self._trainer.sess.as_default():
            self._trainer.loop.config(0, self._workloads + 1, _EPOCHS_MAX)
            self._trainer.loop.update_global_step()
            self._trainer._callbacks.before_train()
            self._input._reset_state()  # runs the input up to its position
            self._trainer.loop.update_global_step()

    def _set_up(self, model: Any, training: Any, validation: Any) -> None:
        trainer = self._trainer = Trainer()
        # Without it, a weight may be updated while the gradient of a lower layer still reads it.
        trainer.GATE_GRADIENTS = v1.train.Optimizer.GATE_OP
        trainer.is_chief = self._context.distributed.is_chief

        def cost(*inputs: Any) -> Any:
            found = model.build_graph(*inputs)
            if self._cost is None:
                self._cost = found  # of the training tower; inference towers are built later
            return found

        self._input = tp.FeedInput(EndlessFrom(training, self._trained), infinite=False)
        trainer.setup_graph(model.get_input_signature(), self._input, cost, lambda: self._optimizer(model))
        given = self._list("tensorpack_callbacks", tp.callbacks.Callback)
        monitors = self._list("tensorpack_monitors", tp.callbacks.MonitorBase)
        callbacks = [*given, *self._validation(validation)]
        trainer.setup_callbacks([*callbacks, tp.callbacks.MergeAllSummaries()], monitors)
        trainer.measure(self._training_fetches(), seeds.placeholder(self._graph))
        self._saver = v1.train.Saver(max_to_keep=1, save_relative_paths=True)

    def _optimizer(self, model: Any) -> Any:
        return _aggregation.wrap(model.get_optimizer(), self._context.env, self._context.distributed)

    def _list(self, method: str, kind: type) -> list[Any]:
        return self._all(kind, self._call(method), method)

    def _all(self, kind: type, found: Any, method: str, otherwise: str = "") -> list[Any]:
        """Checks that a method of the trial returned a list of ``kind``."""
        name = f"{type(self._trial).__name__}.{method}()"
        check.is_instance(found, (list, tuple), f"result of {name}{otherwise}")
        for place, one in enumerate(found):
            if not isinstance(one, kind):
                what = "the name of a tensor" if kind is str else f"a {kind.__name__} of Tensorpack"
                check.fail(f"{one!r} as item {place} of the result of {name}", what)
        return list(found)

    def _validation(self, dataflow: Any) -> list[Any]:
        name = type(self._trial).__name__
        wanted = self._call("validation_metrics")
        if isinstance(wanted, Evaluator):
            self._evaluator = wanted
            return [wanted]
        names = self._all(str, wanted, "validation_metrics", " (or return an Evaluator)")
        if dataflow is None:
            check.fail(
                "no validation dataflow",
                f"one from {name}.build_validation_dataflow()",
                "validation_metrics() names tensors, which need it; alternatively, return an Evaluator",
            )
        self._means = Means(names, f"{name}.validation_metrics()")
        self._inference = Inference(dataflow, [self._means])
        return [self._inference]

    def _training_fetches(self) -> dict[str, Any]:
        found = {"loss": self._cost}
        for name in self._list("training_metrics", str):
            found[name] = self._tensor(name)
        if self._context.get_hparams().get("include_summary_metrics"):
            for summary in self._graph.get_collection(v1.GraphKeys.SUMMARIES):
                if summary.op.type == "ScalarSummary":
                    found.setdefault(summary.op.name, summary.op.inputs[1])
        return found

    def _tensor(self, name: str) -> Any:
        """The tensor for a name of ``training_metrics()``: an operation's output, a tensor, a variable, or a tensor of
        the training tower.

        Raises:
            ValueError: the graph has none of these.
        """
        graph = self._graph
        for find in (
            lambda: graph.get_operation_by_name(name).outputs,
            lambda: [graph.get_tensor_by_name(name)],
            lambda: [v for v in v1.global_variables() if v.op.name == name],
            lambda: [self._trainer.towers.training()[0][name]],
        ):
            try:
                found = find()
            except (KeyError, ValueError, TypeError):
                continue
            if len(found) == 1:
                return found[0]
        raise ValueError(
            f"training metric {name!r} is neither an operation with one output, nor a tensor or a variable of the graph"
        )

    def _open(self, checkpoint: str | None, *, weights_only: bool) -> None:
        threads = _launch.threads(os.environ)
        creator = tp.tfutils.sesscreate.NewSessionCreator(config=_rng.session_config(None, self._context.env, threads))
        start: Any = tp.tfutils.sessinit.JustCurrentSession()
        if checkpoint is not None:
            path = v1.train.latest_checkpoint(checkpoint)
            if path is None:
                raise FileNotFoundError(
                    f"checkpoint {os.path.basename(checkpoint)} does not contain a TensorFlow checkpoint"
                )
            start = tp.tfutils.sessinit.SaverRestore(path, ignore=_not_of_the_model() if weights_only else ())
        elif (backbone := self._call("load_backbone_weights")) is not None:
            start = tp.tfutils.sessinit.get_model_loader(backbone)
        self._trainer.initialize(creator, start)
        self._opened = True

    # ---- training and validation ----

    def train(self, batches: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        context, trainer = self._context, self._trainer
        context.distributed.note(f"training the batches {self._trained} to {self._trained + batches - 1}")
        self._equalise()
        rows = []
        loop, callbacks = trainer.loop, trainer._callbacks
        self._workloads += 1
        loop.steps_per_epoch = batches
        loop._epoch_num = self._workloads
        with self._graph.as_default(), trainer.sess.as_default():
            callbacks.before_epoch()
            for loop._local_step in range(batches):
                rows.append(trainer.step(self._trained))
                self._trained += 1
                callbacks.trigger_step()
            callbacks.after_epoch()
            try:
                callbacks.trigger_epoch()
            except tp.train.StopTraining:
                context.set_stop_requested(True)
        if context.distributed.size > 1 and context.env.experiment_config.average_training_metrics():
            rows = _metrics.mean_over_ranks(context.distributed.allgather(rows))
        return _metrics.averages(rows), rows

    def _equalise(self) -> None:
        """Sets untrained variables (statistics of batch normalization) to the values of rank 0 on all ranks."""
        ranks = self._context.distributed
        if ranks.size > 1:
            trained = {one.op.name for one in self._graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES)}
            variables = self._graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
            _exchange.spread(self._trainer.sess, [one for one in variables if one.op.name not in trained], ranks)

    def validate(self) -> dict[str, Any]:
        context = self._context
        context.distributed.note(f"validating after batch {self._trained}")
        self._equalise()
        with _rng.untouched(), self._graph.as_default(), self._trainer.sess.as_default():
            if self._evaluator is not None:
                found = self._evaluator.compute_validation_metrics()
                check.is_instance(
                    found, dict, f"result of {type(self._evaluator).__name__}.compute_validation_metrics()"
                )
                return dict(context.distributed.broadcast(dict(found)))
            self._inference.run()
        parts = context.distributed.allgather((self._means.count, self._means.sums))
        count = sum(part[0] for part in parts)
        check.gt(count, 0, "the number of batches of the validation dataflow")
        return {f"val_{name}": sum(part[1][name] for part in parts) / count for name in parts[0][1]}

    # ---- checkpoints ----

    def _write(self, directory: pathlib.Path) -> None:
        with self._graph.as_default():
            self._saver.save(
                self._trainer.sess, str(directory / "model"), global_step=self._trained, write_meta_graph=False
            )

    def _locals(self) -> dict[str, Any]:
        return {one.name: one for one in self._graph.get_collection(v1.GraphKeys.LOCAL_VARIABLES)}

    def _own_state(self) -> dict[str, Any]:
        variables = self._locals()
        values = self._trainer.sess.run(variables) if variables else {}
        return {**super()._own_state(), "workloads": self._workloads, "local_variables": values}

    def _restore_locals(self, saved: dict[str, Any]) -> None:
        known = {name: one for name, one in self._locals().items() if name in saved}
        _exchange.load(self._trainer.sess, list(known.values()), [saved[name] for name in known])

    def close(self) -> None:
        try:
            if self._opened:
                self._opened = False
                failed = sys.exc_info()[0] is not None
                with self._graph.as_default(), self._trainer.sess.as_default():
                    if not failed:
                        self._trainer._callbacks.after_train()
                    self._trainer.hooked_sess.__exit__(*sys.exc_info())
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)


def _not_of_the_model() -> list[str]:
    """The names of variables that a trial does not take from the model that it starts with: the states of optimizers,
    and untrained scalars, such as the step and the learning rate."""
    trained = {one.op.name for one in v1.trainable_variables()}
    return [
        one.op.name
        for one in v1.global_variables()
        if one.op.name not in trained and (one.shape.rank == 0 or is_slot(one.op.name, trained))
    ]


TensorpackTrial.trial_controller_class = TensorpackTrialController
