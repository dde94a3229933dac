"""Fashion-MNIST from its IDX files, as a dataflow."""

import gzip
import os

import numpy as np
import tensorpack as tp


class Pictures(tp.dataflow.RNGDataFlow):
    """Pictures from 0 to 1 and their classes, of "train" or "t10k"; shuffled anew for every pass over "train"."""

    def __init__(self, directory, part):
        images = read(directory, f"{part}-images-idx3-ubyte.gz", header=16).reshape(-1, 28, 28)
        self.images = images.astype(np.float32) / 255
        self.labels = read(directory, f"{part}-labels-idx1-ubyte.gz", header=8).astype(np.int32)
        self.shuffle = part == "train"

    def __len__(self):
        return len(self.labels)

    def __iter__(self):
        order = np.arange(len(self.labels))
        if self.shuffle:
            self.rng.shuffle(order)
        for at in order:
            yield [self.images[at], self.labels[at]]


def read(directory, name, header):
    with gzip.open(os.path.join(directory, name)) as file:
        return np.frombuffer(file.read(), dtype=np.uint8, offset=header)
