"""Data sets that nobody has to wait for at their end."""

from __future__ import annotations

import warnings
from typing import Any

from determined._tensorflow._framework import tf


def without_tuning(dataset: Any) -> Any:
    """The same data set, untuned, unless its author has decided about that.

    The thread that tunes a data set looks at it ever more seldom, at last once a minute, and whoever gives up the
    iterator or closes the session waits for it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in a graph TensorFlow is not sure that it knows the options
        if dataset.options().autotune.enabled is not None:
            return dataset
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
