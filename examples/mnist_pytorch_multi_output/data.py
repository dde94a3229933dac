"""Fashion-MNIST for a model with two inputs and two outputs."""

import gzip
import os
from typing import Any, Dict, List, Tuple

import numpy as np
from torch.utils.data import Dataset

# What the ten kinds of garment are for: 0 upper body, 1 legs or whole body, 2 feet, 3 to carry.
PURPOSE = np.array([0, 1, 0, 1, 0, 2, 0, 2, 3, 2])


class Garments(Dataset):
    """Items ((upper half, lower half), kind), each half an array of shape [1, 14, 28]."""

    def __init__(self, directory: str, part: str) -> None:
        with gzip.open(os.path.join(directory, f"{part}-images-idx3-ubyte.gz")) as file:
            images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
        with gzip.open(os.path.join(directory, f"{part}-labels-idx1-ubyte.gz")) as file:
            self.kinds = np.frombuffer(file.read(), np.uint8, offset=8).astype(np.int64)
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Tuple[np.ndarray, int]:
        return (self.images[index].astype(np.float32) / 255 - 0.2860) / 0.3530, int(self.kinds[index])


def collate(items: List[Tuple[np.ndarray, int]]) -> Dict[str, Any]:
    """A batch nested as the model likes it: arrays in a dict of a tuple and a dict."""
    images = np.stack([image for image, _ in items])
    kinds = np.array([kind for _, kind in items])
    return {
        "halves": (images[:, :, :14], images[:, :, 14:]),
        "labels": {"kind": kinds, "purpose": PURPOSE[kinds]},
    }
