"""Fashion-MNIST from its IDX files."""

import gzip
import os

import torch


def load(directory: str, part: str) -> torch.utils.data.TensorDataset:
    images = read(directory, f"{part}-images-idx3-ubyte.gz", header=16).view(-1, 1, 28, 28)
    labels = read(directory, f"{part}-labels-idx1-ubyte.gz", header=8).long()
    return torch.utils.data.TensorDataset((images / 255 - 0.2860) / 0.3530, labels)


def read(directory: str, name: str, header: int) -> torch.Tensor:
    with gzip.open(os.path.join(directory, name)) as file:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)[header:]
