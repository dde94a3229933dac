"""Fashion-MNIST from its IDX files. The pictures stay bytes until they are in a batch: they are part of the graph."""

import gzip
import os

import numpy as np
import tensorflow as tf


def load(directory, part):
    """Pictures and their classes, of "train" or "t10k"."""
    images = read(directory, f"{part}-images-idx3-ubyte.gz", header=16).reshape(-1, 784)
    labels = read(directory, f"{part}-labels-idx1-ubyte.gz", header=8)
    return images, labels.astype(np.int32)


def read(directory, name, header):
    with gzip.open(os.path.join(directory, name)) as file:
        return np.frombuffer(file.read(), dtype=np.uint8, offset=header)


def scaled(features, labels):
    """The pictures of a batch as numbers from 0 to 1."""
    return {"image": tf.cast(features["image"], tf.float32) / 255}, labels
