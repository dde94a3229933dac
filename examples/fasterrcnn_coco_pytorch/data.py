"""A detection set in COCO's format, composed once: Fashion-MNIST garments pasted on scikit-image's photographs."""

import gzip
import json
import os
import shutil
import tempfile
from typing import Any, Dict, List, Tuple

import numpy as np
import torch
from torch.utils.data import Dataset

SIZE = 160  # of a picture, in pixels
KINDS = ["shirt", "trousers", "pullover", "dress", "coat", "sandal", "top", "sneaker", "bag", "boot"]


class CocoDetection(Dataset):
    """Pictures of shape [3, 160, 160] from 0 to 1, each with boxes [n, 4] (x1, y1, x2, y2) and labels [n] from 1 on."""

    def __init__(self, directory: str) -> None:
        self.images = np.load(os.path.join(directory, "images.npy"), mmap_mode="r")
        with open(os.path.join(directory, "annotations.json")) as file:
            coco = json.load(file)
        self.boxes: Dict[int, List[Any]] = {image["id"]: [] for image in coco["images"]}
        for annotation in coco["annotations"]:
            self.boxes[annotation["image_id"]].append((annotation["bbox"], annotation["category_id"]))

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
        boxes = torch.tensor(
            [[x, y, x + w, y + h] for (x, y, w, h), _ in self.boxes[index]], dtype=torch.float32
        )
        labels = torch.tensor([label for _, label in self.boxes[index]])
        image = torch.from_numpy(self.images[index].astype(np.float32) / 255).permute(2, 0, 1)
        return image, {"boxes": boxes, "labels": labels}


def collate(items: List[Tuple[torch.Tensor, Dict[str, torch.Tensor]]]) -> Tuple[Tuple[Any, ...], ...]:
    """Pictures may differ in size: a tuple of them and a tuple of what is on them."""
    return tuple(zip(*items))


def prepare(directory: str, garments: str, count: int, seed: int) -> str:
    """The folder of the composed set; composes it where it is not yet there, whoever of the ranks is first."""
    wanted = os.path.join(directory, f"composed-{SIZE}-{count}-{seed}")
    if os.path.isdir(wanted):
        return wanted
    print(f"composing {count} pictures into {wanted}")
    os.makedirs(directory, exist_ok=True)
    made = tempfile.mkdtemp(dir=directory)
    compose(made, garments, count, seed)
    try:
        os.rename(made, wanted)
    except OSError:  # Another rank was first.
        shutil.rmtree(made)
    return wanted


def compose(folder: str, garments: str, count: int, seed: int) -> None:
    import skimage.data

    names = ["astronaut", "chelsea", "coffee", "rocket"]
    photographs = [getattr(skimage.data, name)()[..., :3] for name in names]
    with gzip.open(os.path.join(garments, "train-images-idx3-ubyte.gz")) as file:
        items = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(os.path.join(garments, "train-labels-idx1-ubyte.gz")) as file:
        kinds = np.frombuffer(file.read(), np.uint8, offset=8)
    chance = np.random.default_rng(seed)
    images = np.empty((count, SIZE, SIZE, 3), np.uint8)
    annotations: List[Dict[str, Any]] = []
    for number in range(count):
        photograph = photographs[chance.integers(len(photographs))]
        top, left = (chance.integers(length - SIZE) for length in photograph.shape[:2])
        picture = photograph[top : top + SIZE, left : left + SIZE].copy()
        for _ in range(chance.integers(1, 4)):
            which = chance.integers(len(items))
            item = np.kron(
                items[which], np.ones((chance.integers(1, 4),) * 2, np.uint8)
            )  # 28, 56 or 84 pixels
            y, x = chance.integers(0, SIZE - len(item), 2)
            seen = item > 40
            if not seen.any():
                continue
            part = picture[y : y + len(item), x : x + len(item)]
            part[seen] = (item[..., None] * chance.uniform(0.5, 1.0, 3)).astype(np.uint8)[seen]
            rows, columns = np.flatnonzero(seen.any(1)), np.flatnonzero(seen.any(0))
            box = [x + columns[0], y + rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1]
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": int(kinds[which]) + 1,
                    "bbox": [int(value) for value in box],
                    "area": int(box[2] * box[3]),
                    "iscrowd": 0,
                }
            )
        images[number] = picture
    np.save(os.path.join(folder, "images.npy"), images)
    coco = {
        "images": [{"id": i, "width": SIZE, "height": SIZE} for i in range(count)],
        "annotations": annotations,
        "categories": [{"id": i + 1, "name": name} for i, name in enumerate(KINDS)],
    }
    with open(os.path.join(folder, "annotations.json"), "w") as file:
        json.dump(coco, file)
