"""The platform's part in Tensorpack's callbacks: where the input stands, what is measured, how is validated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from determined.tensorpack._framework import tp, v1


class EndlessFrom(tp.DataFlow):  # type: ignore[misc]
    """A dataflow again and again, entered after some datapoints."""

    def __init__(self, inner: Any, start: int) -> None:
        self._inner = inner
        self._start = start
        self._ready = False
        self._entered: Iterator[Any] | None = None

    def reset_state(self) -> None:
        self._inner.reset_state()
        self._ready = True

    def __iter__(self) -> Iterator[Any]:
        if not self._ready:  # Tensorpack asks once before, and throws that away
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
                raise RuntimeError("the dataflow of training is empty")

    def __len__(self) -> int:
        return len(self._inner)


class Control(tp.callbacks.Callback):  # type: ignore[misc]
    """Feeds the number of the batch, and fetches the metrics of every batch."""

    _chief_only = False

    def __init__(
        self, fetches: Callable[[], Mapping[str, Any]], placeholder: Callable[[], Any], batch: Callable[[], int]
    ):
        self._make_fetches = fetches
        self._make_placeholder = placeholder
        self._batch = batch
        self.row: dict[str, Any] = {}

    def _setup_graph(self) -> None:
        self._fetches = dict(self._make_fetches())
        self._placeholder = self._make_placeholder()
        self.saver = v1.train.Saver(max_to_keep=1, save_relative_paths=True)

    def _before_run(self, _: Any) -> Any:
        return v1.train.SessionRunArgs(self._fetches, feed_dict={self._placeholder: self._batch()})

    def _after_run(self, _: Any, run_values: Any) -> None:
        self.row = {name: _plain(value) for name, value in run_values.results.items()}


class Means(tp.callbacks.Inferencer):  # type: ignore[misc]
    """The sum of tensors over the batches of a validation."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self.count = 0
        self.sums: dict[str, float] = {}

    def _get_fetches(self) -> list[str]:
        return self._names

    def _before_inference(self) -> None:
        self.count, self.sums = 0, dict.fromkeys(self._names, 0.0)

    def _on_fetches(self, results: list[Any]) -> None:
        self.count += 1
        for name, value in zip(self._names, results, strict=True):
            if np.ndim(value) != 0:
                raise ValueError(f"validation metric {name!r} has the shape {np.shape(value)}; must be a number")
            self.sums[name] += float(value)

    def _after_inference(self) -> None:
        return None


class Inference(tp.callbacks.InferenceRunner):  # type: ignore[misc]
    """An inference that runs when the platform validates, and at no other time."""

    _chief_only = False

    def _trigger_epoch(self) -> None:
        """Not now."""

    def run(self) -> None:
        self._trigger()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, (np.ndarray, np.generic)) and np.ndim(value) == 0 else value
