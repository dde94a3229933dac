"""The context of DeepSpeed trials."""

from __future__ import annotations

import logging
from typing import Any, NoReturn, TypeVar

from determined._env import EnvContext
from determined._ranks._distributed import DistributedContext
from determined.common import check
from determined.errors import InvalidExperimentException
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch.deepspeed._mpu import ModelParallelUnit, make_data_parallel_mpu, make_deepspeed_mpu

logger = logging.getLogger("determined.pytorch")

Engine = TypeVar("Engine")


class DeepSpeedTrialContext(PyTorchTrialContext):
    """Registers the engines of ``deepspeed.initialize()``, which train, and are saved and restored.

    Example::

        def __init__(self, context):
            self.context = context
            model = Net()
            engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds_config.json")
            self.engine = context.wrap_model_engine(engine)

    A *batch* of the trial is one step of the engine: ``gradient_accumulation_steps`` micro-batches of DeepSpeed's
    configuration. Models, optimizers and schedulers belong to the engine; :attr:`models` is the list of engines.
    """

    def __init__(self, env: EnvContext, distributed: DistributedContext | None = None) -> None:
        super().__init__(env, distributed)
        if self.aggregation_frequency > 1:
            raise InvalidExperimentException(
                f"optimizations.aggregation_frequency is {self.aggregation_frequency}; a DeepSpeedTrial accumulates "
                "gradients with gradient_accumulation_steps of DeepSpeed's configuration"
            )
        self._mpu: ModelParallelUnit | None = None
        self._accumulates_itself = False
        self._micro_batches = 1
        self._micro_batch_size = 0
        self.use_pipeline_parallel = False
        self.loads_weights_only = False
        """Whether :meth:`DeepSpeedTrial.load` is called for a warm start, which takes only the weights."""

    def wrap_model_engine(self, model: Engine) -> Engine:
        """Registers an engine, and returns it. Several engines must accumulate the same number of micro-batches."""
        import deepspeed

        check.is_instance(model, deepspeed.DeepSpeedEngine, "wrap_model_engine() takes an engine")
        engine: Any = model
        micro_batches, size = engine.gradient_accumulation_steps(), engine.train_micro_batch_size_per_gpu()
        if self.models:
            check.eq(micro_batches, self._micro_batches, "gradient_accumulation_steps of all engines")
        if isinstance(engine, deepspeed.PipelineEngine):
            self.use_pipeline_parallel = True
            if self._mpu is None:
                self._mpu = make_deepspeed_mpu(engine.mpu)
        self._micro_batches, self._micro_batch_size = micro_batches, size
        wanted = self.env.hparams.get("global_batch_size")
        if wanted is not None and wanted != engine.train_batch_size():
            logger.warning(
                "the hyperparameter global_batch_size is %s, but DeepSpeed trains %s records per batch; lengths in "
                "records and epochs are computed with the hyperparameter",
                wanted,
                engine.train_batch_size(),
            )
        self.models.append(engine)
        return model

    def set_mpu(self, mpu: ModelParallelUnit) -> None:
        """Sets the place of this rank, for models that are distributed over ranks. Call it in the constructor.

        By default, every rank holds the whole model; of a pipeline engine the place is known.
        """
        check.is_instance(mpu, ModelParallelUnit, "set_mpu() takes a ModelParallelUnit")
        self._mpu = mpu

    @property
    def mpu(self) -> ModelParallelUnit:
        if self._mpu is None:
            self._mpu = make_data_parallel_mpu(self.distributed)
        return self._mpu

    def disable_auto_grad_accumulation(self) -> None:
        """``train_batch`` is called once per batch, and takes all its micro-batches from the iterator itself.

        By default it is called once per micro-batch (except with pipelines, whose engine takes them), and the metrics
        of a batch are averages over its micro-batches.
        """
        self._accumulates_itself = True

    def disable_dataset_reproducibility_checks(self) -> None:
        """Allows data loaders of other classes than :class:`determined.pytorch.DataLoader`."""
        self.experimental.disable_dataset_reproducibility_checks()

    @property
    def train_micro_batch_size_per_gpu(self) -> int:
        """The number of records of a micro-batch on one slot, as DeepSpeed's configuration says: the ``batch_size`` of
        data loaders. Call :meth:`wrap_model_engine` first.
        """
        self._needs_engine("train_micro_batch_size_per_gpu")
        return self._micro_batch_size

    @property
    def num_micro_batches_per_slot(self) -> int:
        """The number of micro-batches of a batch (``gradient_accumulation_steps``)."""
        self._needs_engine("num_micro_batches_per_slot")
        return self._micro_batches

    def _needs_engine(self, name: str) -> None:
        check.gt(len(self.models), 0, f"context.{name} is known after the first wrap_model_engine()")

    @property
    def calls_per_batch(self) -> int:
        """How often ``train_batch`` is called per batch."""
        return 1 if self._accumulates_itself or self.use_pipeline_parallel else self._micro_batches

    def equalise(self) -> None:
        """DeepSpeed has copied the weights of rank 0, or of the first replica, when it made the engines."""

    def spread_buffers(self) -> None:
        """Buffers stay as they are on each rank, as in DeepSpeed."""

    def wrap_model(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("wrap_model()")

    def wrap_optimizer(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("wrap_optimizer()")

    def wrap_lr_scheduler(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("wrap_lr_scheduler()")

    def wrap_scaler(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("wrap_scaler()")

    def configure_apex_amp(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("configure_apex_amp()")

    def backward(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("backward()")

    def step_optimizer(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("step_optimizer()")

    def _refuse(self, method: str) -> NoReturn:
        raise InvalidExperimentException(
            f"a DeepSpeedTrial has no context.{method}: pass model, optimizer and scheduler to deepspeed.initialize(), "
            "the engine to context.wrap_model_engine(), and call the engine's backward() and step()"
        )
