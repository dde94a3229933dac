"""Encodes records of a cached data set as bytes, and decodes blocks of records into arrays.

A record starts with its arrays of fixed size. The lengths of all other parts follow, and then these parts: strings, and
arrays of varying size in TensorFlow's serialized form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from determined._compat import zip_strict
from determined._tensorflow._framework import tf
from determined.common import check

_LENGTH = np.dtype("<u4")


class Layout:
    """The layout of the records of a data set with this element specification."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self._leaves = tf.nest.flatten(spec)
        for leaf in self._leaves:
            check.is_instance(leaf, tf.TensorSpec, "the elements of a data set to cache must consist of dense tensors")
        self._fixed = [at for at, leaf in enumerate(self._leaves) if _is_fixed(leaf)]
        self._others = [at for at, leaf in enumerate(self._leaves) if not _is_fixed(leaf)]
        self._serialised = [at for at in self._others if not _is_string(self._leaves[at])]
        self._row = np.dtype([(f"leaf {at}", *_numpy_type(self._leaves[at])) for at in self._fixed])
        self._lengths = len(self._others) * _LENGTH.itemsize

    # ---- encoding ----

    def prepared(self, dataset: Any, batch: int) -> Any:
        """The data set in batches of flat tuples, the input of ``encode``."""

        def flat(*element: Any) -> tuple[Any, ...]:
            leaves = tf.nest.flatten(element)
            return tuple(
                tf.io.serialize_tensor(leaf) if at in self._serialised else leaf for at, leaf in enumerate(leaves)
            )

        return dataset.map(flat).batch(batch)

    def encode(self, columns: Sequence[Any]) -> list[bytes]:
        """The records of one batch."""
        rows = np.empty(len(columns[0]), self._row)
        for name, at in zip_strict(self._row.names or (), self._fixed):
            rows[name] = columns[at]
        fixed = [row.tobytes() for row in rows]
        if not self._others:
            return fixed
        records = []
        for start, *parts in zip_strict(fixed, *(columns[at] for at in self._others)):
            lengths = np.array([len(part) for part in parts], _LENGTH).tobytes()
            records.append(b"".join([start, lengths, *parts]))
        return records

    # ---- decoding ----

    def decode(self, records: Sequence[Any]) -> Any:
        """A block of records in the structure of the data set. Arrays get a first dimension, the number of records."""
        size = self._row.itemsize
        columns: list[Any] = [None] * len(self._leaves)
        whole = b"".join(record[:size] for record in records) if self._others else b"".join(records)
        rows = np.frombuffer(whole, self._row, len(records)) if size else np.empty(len(records), self._row)
        for name, at in zip_strict(self._row.names or (), self._fixed):
            columns[at] = np.ascontiguousarray(rows[name])
        for at in self._others:
            columns[at] = np.empty(len(records), object)
        for number, record in enumerate(records if self._others else ()):
            place = size + self._lengths
            for at, length in zip_strict(self._others, np.frombuffer(record, _LENGTH, len(self._others), size)):
                columns[at][number] = bytes(record[place : place + length])
                place += length
        return tf.nest.pack_sequence_as(self.spec, columns)

    def block_spec(self) -> Any:
        """The specification of what ``decode`` returns."""
        blocks = [
            tf.TensorSpec([None, *leaf.shape], leaf.dtype) if at in self._fixed else tf.TensorSpec([None], tf.string)
            for at, leaf in enumerate(self._leaves)
        ]
        return tf.nest.pack_sequence_as(self.spec, blocks)

    def unpacked(self, blocks: Any) -> Any:
        """The data set of single records for a data set of blocks."""
        records = blocks.unbatch()
        if not self._serialised:
            return records

        def parse(*element: Any) -> Any:
            leaves = tf.nest.flatten(element)
            for at in self._serialised:
                leaf = self._leaves[at]
                leaves[at] = tf.ensure_shape(tf.io.parse_tensor(leaves[at], leaf.dtype), leaf.shape)
            return tf.nest.pack_sequence_as(self.spec, leaves)

        return records.map(parse)


def _is_string(leaf: Any) -> bool:
    return bool(leaf.dtype == tf.string and leaf.shape.rank == 0)


def _is_fixed(leaf: Any) -> bool:
    kind = np.dtype(leaf.dtype.as_numpy_dtype).kind
    # TensorFlow's unbatch() crashes on empty arrays.
    return kind in "biufc" and bool(leaf.shape.is_fully_defined()) and bool(leaf.shape.num_elements())


def _numpy_type(leaf: Any) -> tuple[Any, tuple[int, ...]]:
    return np.dtype(leaf.dtype.as_numpy_dtype), tuple(leaf.shape.as_list())
