"""The platform's dataflow, trainer and callbacks: position of the input, training metrics, validation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from determined._compat import zip_strict
from determined.tensorpack._framework import tp, v1


class EndlessFrom(tp.DataFlow):  # type: ignore[misc]
    """Repeats a dataflow endlessly, without the first ``start`` datapoints."""

    def __init__(self, inner: Any, start: int) -> None:
        self._inner = inner
        self._start = start
        self._ready = False
        self._entered: Iterator[Any] | None = None

    def reset_state(self) -> None:
        self._inner.reset_state()
        self._ready = True

    def __iter__(self) -> Iterator[Any]:
        if not self._ready:  # Tensorpack creates an iterator earlier, and discards it
            return self._stream()
        if self._entered is None:
            self._entered = self._stream()
            for _ in itertools.islice(self._entered, self._start):
                pass
        return self._entered

    def _stream(self) -> Iterator[Any]:
        while True:
            empty = True
            for point in self._inner:
                empty = False
                yield point
            if empty:
                raise RuntimeError("the training dataflow is empty")

    def __len__(self) -> int:
        return len(self._inner)


class Trainer(tp.SimpleTrainer):  # type: ignore[misc]
    """Returns metrics of every step, with little Python per step.

    For small models, the Python code around a session run takes longer than the run. Tensorpack has callbacks for
    moving averages and for the statistics of batch normalization, and calls all callbacks before and after every run.
    Here, these two are part of the step, and only callbacks that override the methods for runs are called.
    """

    def measure(self, metrics: Mapping[str, Any], placeholder: Any) -> None:
        """Adds the step to the otherwise complete graph.

        Every step fetches ``metrics``, and feeds the number of the batch to ``placeholder``.
        """
        collections = (tp.utils.naming.MOVING_SUMMARY_OPS_KEY, v1.GraphKeys.UPDATE_OPS)
        beside = [one for name in collections for one in v1.get_collection(name)]
        self._names = list(metrics)
        self._fetches = [*metrics.values(), v1.group(self.train_op, *beside, name="step")]
        self._batch = placeholder if placeholder.consumers() else None

    def step(self, batch: int) -> dict[str, Any]:
        """Trains on one batch, and returns its metrics."""
        found = self.hooked_sess.run(self._fetches, {self._batch: batch} if self._batch is not None else None)
        return {name: _plain(value) for name, value in zip(self._names, found)}

    def initialize_hooks(self) -> None:
        hooks = [tp.callbacks.CallbackToHook(one) for one in self._callbacks.cbs if _has_part_in_runs(one)]
        creator = tp.tfutils.sesscreate.ReuseSessionCreator(self.sess)
        self.hooked_sess = v1.train.MonitoredSession(creator, hooks)


def _has_part_in_runs(callback: Any) -> bool:
    names = ("before_run", "_before_run", "after_run", "_after_run")
    plain = tp.callbacks.Callback
    return any(getattr(getattr(callback, name), "__func__", None) is not getattr(plain, name) for name in names)


class Means(tp.callbacks.Inferencer):  # type: ignore[misc]
    """Sums tensors over the batches of a validation."""

    def __init__(self, names: list[str], source: str) -> None:
        self._names = names
        self._source = source
        self.count = 0
        self.sums: dict[str, float] = {}

    def look_for(self, tower: Any) -> None:
        """Raises ValueError if the tower has no tensor of one of the names."""
        for name in self._names:
            try:
                found = tower.get_tensor(name)
            except (KeyError, ValueError):
                found = None
            if found is None:
                raise ValueError(f"{self._source} names {name!r}, which is not a tensor of the graph")

    def _get_fetches(self) -> list[str]:
        return self._names

    def _before_inference(self) -> None:
        self.count, self.sums = 0, dict.fromkeys(self._names, 0.0)

    def _on_fetches(self, results: list[Any]) -> None:
        self.count += 1
        for name, value in zip_strict(self._names, results):
            if np.ndim(value) != 0:
                raise ValueError(f"validation metric {name!r} has the shape {np.shape(value)}; it must be a number")
            self.sums[name] += float(value)

    def _after_inference(self) -> None:
        return None


class Inference(tp.callbacks.InferenceRunner):  # type: ignore[misc]
    """An inference that runs only when the platform validates."""

    _chief_only = False

    def _build_hook(self, inferencer: Means) -> Any:
        inferencer.look_for(self._tower_handle)
        return super()._build_hook(inferencer)

    def _trigger_epoch(self) -> None:
        """Does nothing: epochs do not trigger validation."""

    def run(self) -> None:
        self._trigger()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, (np.ndarray, np.generic)) and np.ndim(value) == 0 else value
