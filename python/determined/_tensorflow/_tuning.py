"""Turns off autotuning of data sets, which delays their end."""

from __future__ import annotations

import warnings
from typing import Any

from determined._tensorflow._framework import tf


def without_tuning(dataset: Any) -> Any:
    """The data set without autotuning, unless its options set autotuning.

    The autotuning thread wakes up ever less often, eventually once a minute, and deleting the iterator or closing the
    session waits for it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in a graph, TensorFlow warns that it may not know the options
        if dataset.options().autotune.enabled is not None:
            return dataset
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
