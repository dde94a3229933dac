"""Estimators in a script of the Native API."""

from __future__ import annotations

from typing import Any

from determined._env import EnvContext
from determined._ranks._distributed import DistributedContext
from determined._train_context import NativeContext
from determined.estimator._context import EstimatorContext
from determined.estimator._trial import EstimatorTrial, ServingInputReceiverFn
from determined.experimental import _native_context


class EstimatorNativeContext(NativeContext, EstimatorContext):
    """The result of ``determined.experimental.estimator.init``.

    ``serving_input_receiver_fns`` maps names to functions. Each exports a SavedModel into every checkpoint.
    """

    def __init__(self, env: EnvContext, distributed: DistributedContext | None = None) -> None:
        super().__init__(env, distributed)
        self.serving_input_receiver_fns: dict[str, ServingInputReceiverFn] = {}

    def train_and_evaluate(self, estimator: Any, train_spec: Any, eval_spec: Any) -> None:
        """As ``tf.estimator.train_and_evaluate``. On the cluster, the script does not run beyond this call."""
        context = self

        class NativeEstimatorTrial(EstimatorTrial):
            trial_context_class = _native_context.attached(context)

            def build_estimator(self) -> Any:
                return estimator

            def build_train_spec(self) -> Any:
                return train_spec

            def build_validation_spec(self) -> Any:
                return eval_spec

            def build_serving_input_receiver_fns(self) -> dict[str, ServingInputReceiverFn]:
                return context.serving_input_receiver_fns

        _native_context.hand_over(self, NativeEstimatorTrial)
