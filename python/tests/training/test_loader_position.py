"""Loaders that begin at any batch: the order and what is drawn do not depend on what came before."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

from determined import _loader_position


class Noisy(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> tuple[int, float, float, float]:
        return index, random.random(), float(np.random.rand()), float(torch.rand(()))


def collate(records: list[Any]) -> list[float]:
    return [float(number) for record in records for number in record] + [random.random()]


def epoch(number: int, skip: int = 0, workers: int = 0, wasted: int = 0) -> list[list[float]]:
    torch.manual_seed(wasted)  # what the training draws meanwhile
    loader = torch.utils.data.DataLoader(Noisy(), 3, shuffle=True, num_workers=workers, collate_fn=collate)
    position = _loader_position.control(loader, 7)
    assert position is not None
    assert _loader_position.control(loader, 7) is position
    position.begin(number, skip)
    before = torch.get_rng_state()
    batches = list(loader)
    assert torch.equal(torch.get_rng_state(), before), "reading draws from the training's generator"
    return batches


def test_batches_depend_on_seed_and_epoch_alone() -> None:
    whole = epoch(2)
    assert len(whole) == 4
    assert sorted(number for batch in whole for number in batch[:-1:4]) == list(range(10))
    assert epoch(2, wasted=5) == whole
    assert epoch(2, workers=2, wasted=6) == whole
    assert epoch(3) != whole


@pytest.mark.parametrize("skip", [1, 3, 4])
def test_an_epoch_begins_at_any_batch(skip: int) -> None:
    assert epoch(2, skip) == epoch(2)[skip:]


def test_a_stream_and_a_loader_with_a_state_keep_their_own_position() -> None:
    class Stream(torch.utils.data.IterableDataset[int]):
        def __iter__(self) -> Any:
            return iter(range(3))

    assert _loader_position.control(torch.utils.data.DataLoader(Stream()), 7) is None
