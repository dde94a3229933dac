"""Validation by custom code."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

from determined._compat import zip_strict
from determined.tensorpack._framework import tp


class Evaluator(tp.callbacks.Callback):  # type: ignore[misc]
    """Return an evaluator from ``TensorpackTrial.validation_metrics()`` to validate with your own graph and code.

    Both methods run on every rank. The result of the chief's ``compute_validation_metrics`` is reported.
    """

    _chief_only = False

    @abc.abstractmethod
    def set_up_graph(self, trainer: Any) -> None:
        """Builds the validation graph. Called once, before the graph is finalized."""

    @abc.abstractmethod
    def compute_validation_metrics(self) -> Mapping[str, Any]:
        """Returns metrics by name. They are reported under these names."""

    def _setup_graph(self) -> None:
        self.set_up_graph(self.trainer)


class NamedTensorsEvaluator(Evaluator):
    """Evaluates tensors of the training graph that need no input."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._tensors: list[Any] = []

    def set_up_graph(self, trainer: Any) -> None:
        self._tensors = tp.tfutils.common.get_tensors_by_names(self._names)

    def compute_validation_metrics(self) -> Mapping[str, Any]:
        return dict(zip_strict(self._names, self.trainer.sess.run(self._tensors)))
