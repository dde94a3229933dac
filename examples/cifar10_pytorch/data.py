"""CIFAR-10 from its usual files where they are, else pictures of its shape made from Fashion-MNIST."""

import gzip
import os
import pickle
from typing import Tuple

import numpy as np
import torch
from torch.utils.data import TensorDataset

MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
STD = torch.tensor([0.2470, 0.2435, 0.2616]).view(3, 1, 1)


def load(data_config: dict, train: bool) -> TensorDataset:
    """Pictures of shape [n, 3, 32, 32], normalised, and labels of shape [n]."""
    folder = os.path.join(data_config["directory"], "cifar-10-batches-py")
    if os.path.isdir(folder):
        images, labels = read_cifar(folder, train)
    else:
        print(f"{folder} is not there: making pictures like CIFAR-10's from Fashion-MNIST")
        images, labels = colour(data_config["stand_in"], train)
    return TensorDataset(
        (torch.from_numpy(images).float() / 255 - MEAN) / STD, torch.from_numpy(labels).long()
    )


def read_cifar(folder: str, train: bool) -> Tuple[np.ndarray, np.ndarray]:
    images, labels = [], []
    for name in [f"data_batch_{i}" for i in range(1, 6)] if train else ["test_batch"]:
        with open(os.path.join(folder, name), "rb") as file:
            part = pickle.load(file, encoding="bytes")
        images.append(part[b"data"].reshape(-1, 3, 32, 32))
        labels.append(np.array(part[b"labels"]))
    return np.concatenate(images), np.concatenate(labels)


def colour(folder: str, train: bool) -> Tuple[np.ndarray, np.ndarray]:
    """Every garment in a colour of its own before a background of its own: 50,000 and 10,000 pictures."""
    part = "train" if train else "t10k"
    with gzip.open(os.path.join(folder, f"{part}-images-idx3-ubyte.gz")) as file:
        grey = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(os.path.join(folder, f"{part}-labels-idx1-ubyte.gz")) as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8).astype(np.int64)
    count = min(len(grey), 50000)
    chance = np.random.default_rng(10 if train else 11)
    front = chance.uniform(0.4, 1.0, (count, 3, 1, 1)).astype(np.float32)
    back = chance.uniform(0.0, 90.0, (count, 3, 1, 1)).astype(np.float32)
    padded = np.pad(grey[:count], ((0, 0), (0, 0), (2, 2), (2, 2))).astype(np.float32)
    return np.where(padded > 8, padded * front, back).astype(np.uint8), labels[:count]
