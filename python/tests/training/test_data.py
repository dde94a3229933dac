"""The data loader: a drop-in replacement that can be entered at any batch."""

from __future__ import annotations

import collections
import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from trials import Points

from determined._compat import zip_strict
from determined.common.check import CheckFailedError
from determined.pytorch import DataLoader, _loading, _order, _progress, samplers
from determined.pytorch import data_length as length_of
from determined.pytorch import to_device as move


class Numbers(torch.utils.data.Dataset[Any]):
    def __init__(self, count: int = 10) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        return index


class NoisyNumbers(Numbers):
    def __getitem__(self, index: int) -> Any:
        return torch.tensor([float(index), torch.rand(1).item(), random.random(), np.random.rand()])


class OwnSampler(torch.utils.data.Sampler[int]):
    """Counts its own epochs, and knows nothing of set_epoch."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.rounds = 0

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Any:
        self.rounds += 1
        return iter([(i + self.rounds) % self.count for i in range(self.count)])


def training(
    loader: DataLoader,
    start: int,
    count: int,
    *,
    seed: int = 1,
    replicas: int = 1,
    rank: int = 0,
    first: int | None = None,
) -> list[Any]:
    batches = _loading.training_iterator(loader, seed=seed, start=start, replicas=replicas, rank=rank, first=first)
    return [batch.tolist() for batch in itertools.islice(batches, count)]


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


LOADERS = {
    "in order": lambda: DataLoader(Numbers(), batch_size=3),
    "shuffled": lambda: DataLoader(Numbers(), batch_size=3, shuffle=True),
    "without the last": lambda: DataLoader(Numbers(), batch_size=3, shuffle=True, drop_last=True),
    "own generator": lambda: DataLoader(Numbers(), batch_size=3, shuffle=True, generator=generator(3)),
    "random sampler": lambda: DataLoader(
        Numbers(), batch_size=3, sampler=torch.utils.data.RandomSampler(Numbers(), replacement=True)
    ),
    "weighted sampler with a generator": lambda: DataLoader(
        Numbers(),
        batch_size=3,
        sampler=torch.utils.data.WeightedRandomSampler([1.0] * 10, 10, generator=generator(5)),
    ),
    "sampler of the user's": lambda: DataLoader(Numbers(), batch_size=3, sampler=OwnSampler(10)),
    "batch sampler": lambda: DataLoader(
        Numbers(),
        batch_sampler=samplers.ReproducibleShuffleBatchSampler(
            torch.utils.data.BatchSampler(range(10), 3, drop_last=False), seed=4
        ),
    ),
    "in workers": lambda: DataLoader(Numbers(), batch_size=3, shuffle=True, num_workers=2),
}


@pytest.mark.parametrize("kind", LOADERS)
def test_a_loader_entered_at_any_batch_goes_on_as_one_that_ran_from_the_start(kind: str) -> None:
    whole = training(LOADERS[kind](), 0, 12)
    for start in (1, 4, 7) if kind == "in workers" else range(12):
        assert training(LOADERS[kind](), start, 12 - start) == whole[start:]


@pytest.mark.parametrize("kind", LOADERS)
def test_the_slots_share_the_sequence_of_one_slot_in_turn(kind: str) -> None:
    whole = training(LOADERS[kind](), 0, 12)
    for rank in range(3):
        assert training(LOADERS[kind](), 1, 3, replicas=3, rank=rank) == whole[3 + rank :: 3]


def on_slots(
    loader: Callable[[int], DataLoader], runs: list[tuple[int, int, int]]
) -> tuple[list[list[int]], _progress.Progress]:
    """The records that each global batch has, where a trial runs for a number of batches, on some slots, with some
    batch size of a slot; and its last position."""
    found: list[list[int]] = []
    saved, position = None, None
    for batches, slots, size in runs:
        position = _progress.resumed(saved, loader(size), trained=len(found), replicas=slots)
        assert position is not None
        of_ranks = [
            training(loader(size), len(found), batches, replicas=slots, rank=rank, first=position.first)
            for rank in range(slots)
        ]
        for each in zip_strict(*of_ranks):
            found.append([int(record) for batch in each for record in batch])
        saved = position.state(len(found))
    assert position is not None
    return found, position


RUNS = {
    "shrinks": [(3, 4, 2), (5, 2, 4), (8, 1, 8)],
    "grows": [(1, 1, 8), (2, 2, 4), (13, 4, 2)],
    "there and back": [(5, 2, 4), (2, 4, 2), (9, 2, 4)],
}


@pytest.mark.parametrize("runs", RUNS.values(), ids=RUNS)
def test_a_global_batch_has_the_same_records_on_any_number_of_slots(runs: list[tuple[int, int, int]]) -> None:
    def loader(size: int) -> DataLoader:
        return DataLoader(Numbers(40), batch_size=size, shuffle=True)

    whole, _ = on_slots(loader, [(16, 1, 8)])
    assert [sorted(batch) for batch in on_slots(loader, runs)[0]] == [sorted(batch) for batch in whole]
    assert sorted(itertools.chain(*whole[:5])) == list(range(40))


@pytest.mark.parametrize("runs", RUNS.values(), ids=RUNS)
def test_an_epoch_that_ends_in_a_smaller_batch_is_the_same_epoch_on_any_number_of_slots(
    runs: list[tuple[int, int, int]],
) -> None:
    """A batch of one slot may then have records of two epochs on others; none is left out."""
    records = list(itertools.chain(*on_slots(lambda size: DataLoader(Numbers(10), batch_size=size), runs)[0]))
    for at in range(0, len(records) - 10, 10):
        assert sorted(records[at : at + 10]) == list(range(10))


def test_a_slot_that_keeps_its_batch_size_goes_on_at_the_same_record() -> None:
    def loader(size: int) -> DataLoader:
        return DataLoader(Numbers(96), batch_size=size)

    found, position = on_slots(loader, [(4, 2, 4), (2, 3, 4), (20, 4, 4)])
    assert list(itertools.chain(*found)) == [record % 96 for record in range(32 + 24 + 320)]
    assert position.epochs_ahead(6) == 14 // 4 - 6  # of 24 batches of an epoch, 14 are behind
    assert _progress.resumed(None, loader(4), trained=7, replicas=3).epochs_ahead(6) == 0  # type: ignore[union-attr]


def test_records_that_no_whole_batches_end_at_are_trained_again(caplog: pytest.LogCaptureFixture) -> None:
    found, _ = on_slots(lambda size: DataLoader(Numbers(96), batch_size=size), [(3, 1, 4), (1, 1, 8)])
    assert found[-1] == list(range(8, 16))
    assert "after 12 records of epoch 0: the last 4 of them are trained again" in caplog.text


def test_a_batch_sampler_goes_on_as_far_into_its_epoch() -> None:
    def loader(size: int) -> DataLoader:
        batches = torch.utils.data.BatchSampler(range(96), size, drop_last=False)
        return DataLoader(Numbers(96), batch_sampler=batches)

    found, _ = on_slots(loader, [(13, 1, 8), (2, 2, 4)])
    assert list(itertools.chain(*found[13:])) == list(range(8, 24))


def test_an_epoch_holds_every_record_once_and_the_next_has_another_order() -> None:
    batches = training(LOADERS["shuffled"](), 0, 8)
    first, second = (list(itertools.chain(*batches[at : at + 4])) for at in (0, 4))
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    assert training(LOADERS["shuffled"](), 0, 4, seed=2) != batches[:4]


def test_loaders_of_pytorch_have_one_order_on_all_ranks_and_another_in_each_pass() -> None:
    def batches(start: int, rank: int) -> list[Any]:
        loader = torch.utils.data.DataLoader(Numbers(), batch_size=5, shuffle=True)
        found = _loading.training_iterator(loader, seed=1, start=start, replicas=2, rank=rank)
        return [next(found).tolist() for _ in range(4)]

    torch.manual_seed(0)
    state = torch.get_rng_state()
    whole = batches(0, rank=0)
    assert whole[:2] != whole[2:]
    assert batches(0, rank=1) == whole  # sharing them out is a sampler's, which needs one order for that
    assert batches(2, rank=0)[:2] == whole[2:]
    assert torch.equal(torch.get_rng_state(), state)


def test_the_order_draws_nothing_from_the_global_generators() -> None:
    for kind in LOADERS:
        before = (torch.get_rng_state(), random.getstate(), str(np.random.get_state()))
        training(LOADERS[kind](), 3, 6)
        assert torch.equal(torch.get_rng_state(), before[0])
        assert (random.getstate(), str(np.random.get_state())) == before[1:]


def test_noise_drawn_in_workers_depends_on_the_batch_alone() -> None:
    one = DataLoader(NoisyNumbers(), batch_size=3, shuffle=True, num_workers=1)
    two = DataLoader(NoisyNumbers(), batch_size=3, shuffle=True, num_workers=2)
    whole = training(one, 0, 7)
    assert training(two, 5, 2) == whole[5:]
    assert whole[0] != whole[4]


def test_workers_find_the_users_data_set_when_they_start() -> None:
    def start(worker: int) -> None:
        info = torch.utils.data.get_worker_info()
        assert info is not None
        info.dataset.count += 100 * (worker + 1)

    class Counted(Numbers):
        def __getitem__(self, index: int) -> int:
            return self.count

    loader = DataLoader(Counted(), batch_size=2, num_workers=1, worker_init_fn=start)
    assert training(loader, 0, 1) == [[110, 110]]


def test_every_validation_is_the_same() -> None:
    loader = DataLoader(NoisyNumbers(), batch_size=3, shuffle=True, num_workers=2, persistent_workers=True)
    running = _loading.validation_loader(loader, seed=1, replicas=1, rank=0)
    first, second = ([batch.tolist() for batch in running] for _ in range(2))
    assert first == second
    assert sorted(row[0] for batch in first for row in batch) == list(range(10))


def test_fewer_validation_batches_than_slots_are_refused() -> None:
    with pytest.raises(CheckFailedError, match=r"2 validation batches.*3 slots"):
        _loading.validation_loader(DataLoader(Numbers(4), batch_size=2), seed=1, replicas=3, rank=0)


def test_a_training_set_without_batches_is_refused() -> None:
    with pytest.raises(CheckFailedError, match="must have batches"):
        _loading.training_length(DataLoader(Numbers(2), batch_size=3, drop_last=True), replicas=1, rank=0)


def test_evaluate_full_dataset_gets_a_loader_of_pytorch_with_the_users_arguments() -> None:
    running = _loading.whole_validation_loader(DataLoader(Numbers(), batch_size=4), seed=1)
    assert type(running) is torch.utils.data.DataLoader
    assert (running.batch_size, len(running), len(running.dataset)) == (4, 3, 10)


def test_outside_a_trial_it_is_pytorchs_loader() -> None:
    torch.manual_seed(0)
    ours = [batch.tolist() for batch in DataLoader(Numbers(), batch_size=4, shuffle=True)]
    torch.manual_seed(0)
    theirs = [batch.tolist() for batch in torch.utils.data.DataLoader(Numbers(), batch_size=4, shuffle=True)]
    assert ours == theirs
    assert len(DataLoader(Numbers(), batch_size=4)) == 3


def test_get_data_loader_repeats_shards_and_skips_in_this_order() -> None:
    running = DataLoader(Numbers(), batch_size=2).get_data_loader(repeat=True, skip=1, num_replicas=2, rank=1)
    assert [batch.tolist() for batch in itertools.islice(running, 3)] == [[6, 7], [0 + 2 - 2, 1], [4, 5]]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"num_workers": -1}, "num_workers is -1"),
        ({"timeout": -1}, "timeout is -1"),
        ({"sampler": [0], "shuffle": True}, "sampler and shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler excludes"),
        ({"batch_sampler": [[0]], "shuffle": True}, "batch_sampler excludes"),
        ({"batch_sampler": [[0]], "drop_last": True}, "batch_sampler excludes"),
        ({"batch_size": None}, "batch_size is None"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"prefetch_factor": 2}, "prefetch_factor needs"),
        ({"persistent_workers": True}, "persistent_workers needs"),
    ],
)
def test_arguments_that_exclude_each_other_are_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        DataLoader(Numbers(), **arguments)


def test_a_data_set_that_can_only_be_iterated_is_refused() -> None:
    class Stream(torch.utils.data.IterableDataset[Any]):
        def __iter__(self) -> Any:
            return iter(())

    with pytest.raises(ValueError, match="Stream is an IterableDataset"):
        DataLoader(Stream())


def test_a_sampler_that_yields_nothing_is_named() -> None:
    class Empty(OwnSampler):
        def __iter__(self) -> Any:
            return iter(())

    epochs = _order.SampledEpochs(torch.utils.data.BatchSampler(Empty(4), 2, False), seed=1)
    with pytest.raises(ValueError, match="yields no batches in epoch 0"):
        epochs.epoch(0)


def test_batches_of_the_documented_structures_become_tensors() -> None:
    array = np.array([[0, 0], [0, 0]])
    batch = {"data": [{"sub_data1": array}, {"sub_data2": torch.zeros(2)}], "label": (array, torch.ones(2))}
    moved = move(batch, "cpu")
    assert torch.equal(moved["data"][0]["sub_data1"], torch.zeros(2, 2, dtype=torch.int64))
    assert isinstance(moved["label"], tuple)
    assert isinstance(moved["label"][0], torch.Tensor)
    assert move(["text", 3, None], "cpu") == ["text", 3, None]


class Encoding(collections.UserDict[str, Any]):
    """A mapping that moves itself, as those of tokenizers do."""

    def to(self, device: Any) -> Encoding:
        return Encoding({name: value.to(device) for name, value in self.items()})


def test_a_batch_that_moves_itself_stays_what_it_is() -> None:
    encoding = Encoding(ids=torch.zeros(4, 2))
    moved = move([encoding, collections.OrderedDict(a=torch.zeros(1))], "meta")
    assert isinstance(moved[0], Encoding)
    assert moved[0]["ids"].device.type == moved[1]["a"].device.type == "meta"
    assert length_of(encoding) == 4
    packed = torch.nn.utils.rnn.pack_sequence([torch.zeros(2, 3)])
    assert isinstance(move(packed, "cpu"), torch.nn.utils.rnn.PackedSequence)


def test_what_cannot_be_moved_is_passed_on_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    class Odd:
        pass

    odd = Odd()
    assert move([odd, odd], "cpu") == [odd, odd]
    move(np.array(["text"]), "cpu")
    assert caplog.messages[0].startswith("batches hold values of the type Odd, which can't be moved to a device; they")
    assert [r for r in caplog.messages if "Odd" in r] == [m for m in caplog.messages if "Odd" in m][:1]


@pytest.mark.parametrize(
    ("batch", "length"),
    [
        (torch.zeros(3, 2), 3),
        (np.zeros((4, 1)), 4),
        ({"a": torch.zeros(2)}, 2),
        ((torch.zeros(5), torch.zeros(1)), 5),
        ({"data": [{"sub": torch.zeros(7, 1)}], "label": torch.zeros(1)}, 7),
        ({"texts": ["one", "two", "three"], "label": torch.zeros(3)}, 3),
    ],
)
def test_the_length_of_a_batch_is_that_of_its_first_tensor(batch: Any, length: int) -> None:
    assert length_of(batch) == length


def test_a_batch_without_a_length_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty dict"):
        length_of({})
    with pytest.raises(TypeError, match=r"holds a value of the type str .* override get_batch_length"):
        length_of("text")
    with pytest.raises(TypeError, match="holds a value of the type Tensor where"):
        length_of([torch.tensor(1.0), torch.zeros(3)])


def test_samplers_compose() -> None:
    repeated = samplers.RepeatSampler(range(3))
    assert list(itertools.islice(repeated, 7)) == [0, 1, 2, 0, 1, 2, 0]
    assert len(repeated) == 3
    assert list(samplers.DistributedSampler(range(7), 3, 1)) == [1, 4]
    assert [len(samplers.DistributedBatchSampler(range(7), 3, rank)) for rank in range(3)] == [3, 2, 2]
    assert list(samplers.SkipBatchSampler(range(5), 3)) == [3, 4]
    assert len(samplers.SkipBatchSampler(range(5), 3)) == 2
    assert len(samplers.SkipBatchSampler(range(5), 3, same_length=True)) == 5
    endless = samplers.SkipBatchSampler(torch.utils.data.BatchSampler(samplers.RepeatSampler(range(24)), 4, False), 15)
    assert len(endless) == 6  # an epoch's, however many were trained before
    assert next(iter(endless)) == [12, 13, 14, 15]
    with pytest.raises(ValueError, match="rank is 3"):
        samplers.DistributedSampler(range(7), 3, 3)


def test_a_reproducible_shuffle_depends_on_seed_and_epoch() -> None:
    sampler = samplers.ReproducibleShuffleSampler(range(10), seed=1)
    first, second = list(sampler), list(sampler)
    assert sorted(first) == list(range(10))
    assert first != second
    sampler.set_epoch(0)
    assert list(sampler) == first


def test_a_reproducible_shuffle_is_that_of_one_random_state_that_goes_on() -> None:
    chance = np.random.RandomState(777)
    epochs = []
    for _ in range(3):
        chance.shuffle(items := list(range(8)))
        epochs.append(items)
    sampler = samplers.ReproducibleShuffleSampler(range(8), 777)
    assert [list(sampler) for _ in range(3)] == epochs
    sampler.set_epoch(1)
    assert [list(sampler), list(sampler)] == epochs[1:]


def test_noise_in_the_main_process_comes_from_the_global_generators() -> None:
    loader = DataLoader(Points(8, noise=True), batch_size=4)
    batches = _loading.training_iterator(loader, seed=1, start=0, replicas=1, rank=0)
    before = torch.get_rng_state()
    next(batches)
    assert not torch.equal(torch.get_rng_state(), before)
