"""The data of a Keras trial: arrays, sequences and data sets. Reading can start at any batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Union

import numpy as np

from determined._compat import zip_strict
from determined._ranks._distributed import DistributedContext
from determined._tensorflow import _rng
from determined._tensorflow._framework import tf
from determined.common import check
from determined.errors import InvalidDataTypeException

ArrayLike = Union[np.ndarray, list[np.ndarray], dict[str, np.ndarray]]
"""One array, or one for each input or output of a model."""
InputData = Union[tf.keras.utils.Sequence, tf.data.Dataset, tuple[Any, ...]]
"""What the methods of a ``TFKerasTrial`` return: a sequence, a data set, ``(x, y)`` or ``(x, y, sample_weights)``."""


class SequenceAdapter:
    """A ``tf.keras.utils.Sequence`` with options for reading it, for older code.

    The options have no effect: batches are read in the trial's process, so that their order and random numbers are the
    same after a pause.
    """

    def __init__(
        self, data: Any, use_multiprocessing: bool = False, workers: int = 1, max_queue_size: int = 10
    ) -> None:
        check.is_instance(data, tf.keras.utils.Sequence, "SequenceAdapter() takes a tf.keras.utils.Sequence")
        self.data = data


class Batches:
    """Batches by number, from a sequence or from slices of arrays.

    ``alike`` says that all batches have the shape of the first, except for the number of records. ``seen`` is called
    before each batch with the number of batches before it.
    """

    def __init__(
        self,
        count: int,
        get: Callable[[int], Any],
        epoch_end: Callable[[], None] | None = None,
        *,
        alike: bool = True,
        seen: Callable[[int], None] | None = None,
    ) -> None:
        self.count = count
        self.get = get
        self.epoch_end = epoch_end
        self.alike = alike
        self.seen = seen or (lambda number: None)
        self._ended = 0

    @functools.cached_property
    def first(self) -> Any:
        return self.get(0)

    def _end_epochs(self, seed: int, before: int) -> None:
        """Calls ``epoch_end`` for each epoch below ``before`` for which this process has not called it, in order.

        It is seeded with (seed, epoch), so data that shuffles itself after every epoch has the same order on every rank
        and in a resumed process.
        """
        while self._ended < before:
            if self.epoch_end is not None:
                with _rng.seeded(_epoch_seed(seed, self._ended)):
                    self.epoch_end()
            self._ended += 1

    def order(self, seed: int, epoch: int, *, shuffle: bool) -> Any:
        """The numbers of the batches of an epoch in their order, which depends only on (seed, epoch)."""
        return np.random.RandomState(_epoch_seed(seed, epoch)).permutation(self.count) if shuffle else range(self.count)

    def training(self, *, seed: int, shuffle: bool, start: int, ranks: DistributedContext) -> Iterator[Any]:
        """This rank's batches from number ``start`` on, endlessly: every ``size``-th batch of all epochs in a row."""
        order = functools.lru_cache(maxsize=2)(lambda epoch: self.order(seed, epoch, shuffle=shuffle))
        number = start * ranks.size + ranks.rank
        while True:
            epoch, place = divmod(number, self.count)
            self._end_epochs(seed, epoch)
            self.seen(number)
            yield self.get(int(order(epoch)[place]))
            number += ranks.size

    def validation(self, ranks: DistributedContext) -> Iterator[Any]:
        for number in range(ranks.rank, self.count, ranks.size):
            self.seen(number)
            yield self.get(number)


def _epoch_seed(seed: int, epoch: int) -> int:
    return (seed + epoch * 1000003) % 2**32


def batches_of(data: Any, batch_size: int, method: str) -> Batches | None:
    """The batches of arrays or a sequence; None for a ``tf.data.Dataset``. ``method`` names the source in errors.

    Raises:
        InvalidDataTypeException: a trial cannot train on data of this type.
        CheckFailedError: the data is empty, or its arrays differ in length.
    """
    if isinstance(data, SequenceAdapter):
        data = data.data
    if isinstance(data, tf.data.Dataset):
        return None
    if isinstance(data, tf.keras.utils.Sequence):
        check.gt(len(data), 0, f"the number of batches of the sequence from {method}")
        seen = None
        if hasattr(data, "total_batches_seen"):  # of an ImageDataGenerator, whose random numbers depend on it
            seen = functools.partial(setattr, data, "total_batches_seen")
        return Batches(len(data), lambda number: _structured(data[number]), data.on_epoch_end, alike=False, seen=seen)
    if isinstance(data, tuple) and len(data) in (2, 3):
        arrays = _structured(data)
        for given, taken in zip_strict((one for one in data if one is not None), arrays):
            if any(one.ndim == 0 for one in tf.nest.flatten(taken)):
                raise _not_taken(given, method)
        sizes = {len(one) for one in tf.nest.flatten(arrays)}
        if len(sizes) != 1:
            check.fail(
                f"arrays of {', '.join(map(str, sorted(sizes)))} records from {method}", "the same number in all"
            )
        (records,) = sizes
        check.gt(records, 0, f"the number of records of the arrays from {method}")

        def get(number: int) -> Any:
            piece = slice(number * batch_size, min(records, (number + 1) * batch_size))
            return tf.nest.map_structure(lambda one: one[piece], arrays)

        return Batches(-(-records // batch_size), get)
    raise _not_taken(data, method)


def _not_taken(data: Any, method: str) -> InvalidDataTypeException:
    return InvalidDataTypeException(
        type(data),
        f"{method} must return (x, y) or (x, y, sample_weights) of NumPy arrays (lists or dicts of them for several "
        "inputs or outputs), a tf.data.Dataset or a tf.keras.utils.Sequence",
    )


def _structured(value: Any) -> Any:
    """Converts lists to tuples and everything else to arrays, as data sets need them."""
    if isinstance(value, (list, tuple)):
        return tuple(_structured(one) for one in value if one is not None)
    if isinstance(value, dict):
        return {name: _structured(one) for name, one in value.items()}
    return np.asarray(value)


def as_dataset(batches: Callable[[], Iterator[Any]], example: Any, shapes: Any = None) -> Any:
    """A data set of batches that are created in Python on demand. ``shapes`` are those of :func:`open_shapes`."""
    if shapes is None:
        shapes = tf.nest.map_structure(lambda one: tf.TensorShape([None, *one.shape[1:]]), example)
    signature = tf.nest.map_structure(lambda one, shape: tf.TensorSpec(shape, one.dtype), example, shapes)
    return tf.data.Dataset.from_generator(batches, output_signature=signature)


def open_shapes(example: Any, model: Any) -> Any:
    """The shapes of batches that may differ in every axis, such as texts that are padded batch by batch.

    Axes that the model's inputs fix stay fixed, and so do axes of size 1 of the targets, because Keras chooses the kind
    of "accuracy" by them. Call this before the model is built from a batch, which fixes its inputs.
    """
    x, *rest = example if isinstance(example, tuple) else (example,)
    inputs = list(getattr(model, "inputs", None) or ())
    if isinstance(x, dict):
        named = dict(zip(getattr(model, "input_names", ()), inputs))
        inputs = [named.get(name) for name in sorted(x)]
    flat = tf.nest.flatten(x)
    if len(inputs) != len(flat):
        inputs = [None] * len(flat)
    opened = [_open(one, _fixed(given, one.ndim)) for one, given in zip_strict(flat, inputs)]
    packed = tf.nest.pack_sequence_as(x, opened)
    others = tf.nest.map_structure(lambda one: _open(one, [1] * one.ndim), rest)
    return (packed, *others) if isinstance(example, tuple) else packed


def _fixed(given: Any, rank: int) -> list[int | None]:
    shape = given.shape if given is not None else None
    return shape.as_list() if shape is not None and shape.rank == rank else [None] * rank


def _open(one: Any, fixed: list[int | None]) -> Any:
    axes = [size if size == known else None for size, known in zip_strict(one.shape, fixed)]
    return tf.TensorShape([None, *axes[1:]][: one.ndim])
