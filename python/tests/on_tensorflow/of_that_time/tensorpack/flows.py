"""Pictures with stripes, as datapoints."""

import numpy as np
from tensorpack.dataflow import RNGDataFlow


class Stripes(RNGDataFlow):
    def __init__(self, name, shuffle=None):
        random = np.random.RandomState(1 if name == "train" else 2)
        self.labels = random.randint(0, 2, 24).astype("int32")
        self.images = random.rand(24, 8, 8).astype("float32")
        self.images[self.labels == 0, ::2] += 0.5
        self.shuffle = name == "train" if shuffle is None else shuffle

    def __len__(self):
        return 24

    def __iter__(self):
        order = np.arange(24)
        if self.shuffle:
            self.rng.shuffle(order)
        for at in order:
            yield [self.images[at], self.labels[at]]
