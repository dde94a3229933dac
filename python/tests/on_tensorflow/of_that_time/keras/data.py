"""Small pictures of two kinds of stripes, and points."""

import numpy as np


def stripes(count, seed):
    random = np.random.RandomState(seed)
    labels = random.randint(0, 2, count)
    images = random.rand(count, 8, 8, 1) * 0.5
    images[labels == 0, ::2, :, :] += 0.5
    images[labels == 1, :, ::2, :] += 0.5
    return images.astype("float32"), labels


def points(count, seed):
    random = np.random.RandomState(seed)
    x = random.randn(count, 6).astype("float32")
    return x, (x.sum(axis=1) > 0).astype("int64")
