"""Trials on TensorFlow on two slots: real processes that meet, train together, give way and go on."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import runpy
import sys
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from small_master import SmallMaster
from test_exec import environment

HERE = pathlib.Path(__file__).parent
MODEL = """
import os
import tensorflow as tf
import estimator_trials, keras_trials, tensorpack_trials

v1 = tf.compat.v1

class Estimator(estimator_trials.ChanceTrial):
    pass

class Array(keras_trials.ArrayTrial):
    pass

class Tensorpack(tensorpack_trials.NewTrial):
    pass

class Calm(estimator_trials.PremadeTrial):
    def build_estimator(self):
        columns = [tf.feature_column.numeric_column("x", shape=(6,))]
        optimizer = self.context.wrap_optimizer(v1.train.AdamOptimizer(0.05))
        return v1.estimator.DNNClassifier([8], columns, n_classes=2, optimizer=optimizer)

    def build_train_spec(self):
        batch = self.context.get_per_slot_batch_size()
        return tf.estimator.TrainSpec(lambda: self.data(1).batch(batch), hooks=[estimator_trials.Recorder()])

    def build_validation_spec(self):
        return tf.estimator.EvalSpec(lambda: self.data(2).batch(3), steps=None)
"""

# Forty processes would each import TensorFlow for seconds: they are forks of one that has done that, and no more.
FORKS = multiprocessing.get_context("forkserver")
# What ranks meet by comes first: beside TensorFlow's modules it takes ten seconds.
FORKS.set_forkserver_preload(["torch.distributed", "imported_once"])
SAME_FOR_ALL = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module", autouse=True)
def forks() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SAME_FOR_ALL.items():
            patch.setenv(name, value)
        patch.setenv(
            "PYTHONPATH", ":".join(map(str, (HERE, HERE.parent, HERE.parents[1])))
        )  # where it looks for the above
        FORKS.Process(target=int).start()  # the server starts with this environment
        yield


def process(values: dict[str, str], directory: str, log: str) -> None:
    with open(log, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ.clear()
    os.environ.update(values)
    os.chdir(directory)
    sys.path[:0] = [directory]
    sys.argv = ["trial"]
    runpy.run_module("determined.exec.trial", run_name="__main__", alter_sys=True)


METRIC = {"Estimator": "auc", "Calm": "auc", "Array": "val_loss", "Tensorpack": "val_cost"}


class Slots:
    """Runs one trial on some slots, process by process."""

    def __init__(self, place: pathlib.Path, name: str) -> None:
        self.place = place
        self.name = name
        self.config: dict[str, Any] = {}
        (place / "definition").mkdir(exist_ok=True)
        (place / "definition" / "model_def.py").write_text(MODEL)

    def run(self, size: int, *, preempt_after: int | None = None, **changes: Any) -> SmallMaster:
        master = SmallMaster([12])
        master.preempt_after = preempt_after
        config = {
            "entrypoint": f"model_def:{self.name}",
            "searcher": {"metric": METRIC[self.name]},
            "scheduling_unit": 3,
            "min_validation_period": {"batches": 6},
            **self.config,
        }
        processes = []
        for rank in range(size):
            values = environment(
                master,
                self.place,
                config=config,
                hparams={"global_batch_size": 4},
                DET_RANK=rank,
                DET_LOCAL_RANK=rank,
                DET_SIZE=size,
                DET_LOCAL_SIZE=size,
                **changes,
            )
            values["PYTHONPATH"] = ":".join(map(str, (HERE.parents[1], HERE.parent, HERE)))
            log = str(self.place / f"{size}-{rank}.log")
            processes.append(FORKS.Process(target=process, args=(values, str(self.place / "definition"), log)))
            processes[-1].start()
        for one in processes:
            one.join(timeout=240)
        ended = [one.exitcode for one in processes]
        master.close()
        text = "\n".join((self.place / f"{size}-{rank}.log").read_text()[-3000:] for rank in range(size))
        assert ended == [0] * size, text
        return master

    def weights(self, master: SmallMaster) -> dict[str, Any]:
        place = self.place / "storage" / master.checkpoints()[-1]["uuid"]
        path = tf.compat.v1.train.latest_checkpoint(str(place)) or str(place / "determined-keras-model-weights")
        reader = tf.train.load_checkpoint(path)
        names = [
            name for name in reader.get_variable_to_shape_map() if not name.startswith(("_CHECKPOINTABLE", "save_"))
        ]
        return {name: reader.get_tensor(name) for name in sorted(names)}


@pytest.mark.parametrize("name", ["Estimator", "Array", "Tensorpack"])
def test_two_slots_that_gave_way_end_with_the_same_bits(name: str, tmp_path: pathlib.Path) -> None:
    slots = Slots(tmp_path, name)
    straight = slots.run(2)
    first = slots.run(2, preempt_after=4)
    assert first.trained() == 6
    second = slots.run(2, DET_LATEST_CHECKPOINT=first.checkpoints()[-1]["uuid"])
    expected, found = straight.numbers(), {**first.numbers(), **second.numbers()}
    assert found == expected
    left, right = slots.weights(straight), slots.weights(second)
    assert left.keys() == right.keys() and all(np.array_equal(left[key], right[key]) for key in left)


@pytest.mark.parametrize("name", ["Estimator", "Array", "Tensorpack"])
def test_two_slots_that_gave_way_between_two_steps_end_with_the_same_bits(name: str, tmp_path: pathlib.Path) -> None:
    slots = Slots(tmp_path, name)
    slots.config = {"optimizations": {"aggregation_frequency": 4}}
    straight = slots.run(2)
    first = slots.run(2, preempt_after=4)
    assert first.trained() == 6
    second = slots.run(2, DET_LATEST_CHECKPOINT=first.checkpoints()[-1]["uuid"])
    assert {**first.numbers(), **second.numbers()} == straight.numbers()
    left, right = slots.weights(straight), slots.weights(second)
    assert left.keys() == right.keys() and all(np.array_equal(left[key], right[key]) for key in left)


def test_two_slots_train_and_validate_as_one_does_up_to_rounding(tmp_path: pathlib.Path) -> None:
    slots = Slots(tmp_path, "Calm")
    one, two = slots.run(1), slots.run(2)
    for key, metrics in one.numbers().items():
        if key[0] == "validation":  # areas under curves and means over the whole set, not means of the slots' own
            for metric, value in metrics["avgMetrics"].items():
                assert two.numbers()[key]["avgMetrics"][metric] == pytest.approx(value, rel=2e-3, abs=1e-4), (
                    key,
                    metric,
                )
    left, right = slots.weights(one), slots.weights(two)
    for name, value in left.items():
        # This loss is a sum over the batch: of half the batch, Adam's moments are half, and its epsilon counts for more
        # where a gradient is small: up to 3e-4 was seen.
        if "Adam" in name:
            continue
        np.testing.assert_allclose(right[name], value, rtol=0, atol=1e-3, err_msg=name)
    notes = list((tmp_path / "storage").glob("*/note.txt"))
    assert len(notes) == len(one.checkpoints()) + len(two.checkpoints())
