"""Keras models in a script of the Native API."""

from __future__ import annotations

from typing import Any

from determined._train_context import NativeContext
from determined.errors import InvalidExperimentException
from determined.experimental import _native_context
from determined.keras._context import TFKerasContext
from determined.keras._trial import TFKerasTrial

_OPTIONS = ("class_weight", "workers", "use_multiprocessing", "max_queue_size", "shuffle", "validation_steps")


class TFKerasNativeContext(NativeContext, TFKerasContext):
    """The result of ``determined.experimental.keras.init``. ``fit`` of a wrapped model trains on the cluster."""

    def wrap_model(self, model: Any) -> Any:
        model = self.model = super().wrap_model(model)
        model.fit = self._fit
        model.fit_generator = self._fit_generator
        return model

    def _fit_generator(
        self,
        generator: Any,
        steps_per_epoch: Any = None,
        epochs: Any = None,
        verbose: Any = None,
        callbacks: Any = None,
        validation_data: Any = None,
        validation_steps: Any = None,
        **options: Any,
    ) -> None:
        """Replaces the model's ``fit_generator``, whose arguments have another order."""
        if validation_steps is not None:
            options["validation_steps"] = validation_steps
        self._fit(generator, verbose=verbose, callbacks=callbacks, validation_data=validation_data, **options)

    def _fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: Any = None,
        epochs: Any = None,
        verbose: Any = None,
        callbacks: Any = None,
        validation_data: Any = None,
        sample_weight: Any = None,
        **options: Any,
    ) -> None:
        """Replaces the model's ``fit``. The experiment configuration sets lengths and batch sizes."""
        if self.env.managed_training and not self.compiled:
            raise InvalidExperimentException("the model's fit() was called before its compile(); compile it first")
        if validation_data is None:
            raise InvalidExperimentException("fit() was called without validation_data; every trial needs it")
        given = {name: options[name] for name in _OPTIONS if name in options}
        self.configure_fit(verbose=None if verbose is None else bool(verbose), **given)
        if y is not None:
            x = (x, y) if sample_weight is None else (x, y, sample_weight)
        context = self

        class NativeKerasTrial(TFKerasTrial):
            trial_context_class = _native_context.attached(context)

            def build_model(self) -> Any:
                return context.model

            def build_training_data_loader(self) -> Any:
                return x

            def build_validation_data_loader(self) -> Any:
                return validation_data

            def keras_callbacks(self) -> list[Any]:
                return list(callbacks or [])

        _native_context.hand_over(self, NativeKerasTrial)
