"""What do trials add to TensorFlow and tensorpack alone, and how fast are cached data sets read?

Processor time per step, one thread, data in memory. Each variant runs in a process of its own; they take turns.

- `estimator`: a premade classifier (784-128-10, 64 records) under `tf.estimator.train_and_evaluate` and as an
  EstimatorTrial;
- `tensorpack`: a small network (4 records) under `launch_train_with_config` and as a TensorpackTrial;
- `reads`: records of 784 bytes from a cached data set and from yogadl, in order and shuffled, and from a TFRecord file
  in order. yogadl is installed for this run only.

Usage: python bench/tensorflow_trials.py [rounds, default 3]
"""

from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests"), str(ROOT / "python" / "tests" / "on_tensorflow")]

STEPS, WARM_UP = 1500, 300
RECORDS = 20_000


class Clock:
    """Microseconds of processor time per step, after the warm-up."""

    def __init__(self) -> None:
        self.steps, self.begun, self.ended = 0, 0.0, 0.0

    def step(self) -> None:
        self.steps += 1
        if self.steps == WARM_UP:
            self.begun = time.process_time()
        if self.steps == STEPS:
            self.ended = time.process_time()

    def show(self) -> None:
        print((self.ended - self.begun) / (STEPS - WARM_UP) * 1e6)


def pictures() -> tuple[Any, Any]:
    import numpy as np

    generator = np.random.default_rng(1)
    return generator.random((6400, 784), dtype=np.float32), generator.integers(0, 10, 6400)


def classifier(wrap: Any) -> Any:
    import tensorflow as tf

    v1 = tf.compat.v1
    column = tf.feature_column.numeric_column("image", shape=(784,))
    return v1.estimator.DNNClassifier(
        feature_columns=[column],
        n_classes=10,
        hidden_units=[128],
        optimizer=wrap(v1.train.AdamOptimizer(0.001)),
        config=v1.estimator.RunConfig(save_checkpoints_steps=10**9, session_config=one_thread()),
    )


def one_thread() -> Any:
    import tensorflow as tf

    return tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)


def ticking(clock: Clock) -> Any:
    import tensorflow as tf

    class Hook(tf.estimator.SessionRunHook):  # type: ignore[misc]
        def after_run(self, run_context: Any, run_values: Any) -> None:
            clock.step()

    return Hook()


def estimator_bare(place: pathlib.Path) -> None:
    import tensorflow as tf

    clock = Clock()

    def data() -> Any:
        images, labels = pictures()
        return tf.data.Dataset.from_tensor_slices(({"image": images}, labels)).repeat().batch(64)

    tf.compat.v1.disable_v2_behavior()
    tf.estimator.train_and_evaluate(
        classifier(lambda optimizer: optimizer),
        tf.estimator.TrainSpec(data, max_steps=STEPS, hooks=[ticking(clock)]),
        tf.estimator.EvalSpec(data, steps=1, start_delay_secs=10**6, throttle_secs=10**6),
    )
    clock.show()


def estimator_trial(place: pathlib.Path) -> None:
    import tensorflow as tf
    from runs import run

    from determined.estimator import EstimatorTrial

    clock = Clock()

    class Trial(EstimatorTrial):
        def __init__(self, context: Any) -> None:
            self.context = context

        def build_estimator(self) -> Any:
            return classifier(self.context.wrap_optimizer)

        def data(self) -> Any:
            images, labels = pictures()
            whole = tf.data.Dataset.from_tensor_slices(({"image": images}, labels))
            return self.context.wrap_dataset(whole).repeat().batch(64)

        def build_train_spec(self) -> Any:
            return tf.estimator.TrainSpec(self.data, hooks=[ticking(clock)])

        def build_validation_spec(self) -> Any:
            return tf.estimator.EvalSpec(self.data, steps=1)

    run(Trial, place, STEPS, config=settings(64, "loss"))
    clock.show()


def settings(batch: int, metric: str) -> dict[str, Any]:
    return {
        "hyperparameters": {"global_batch_size": batch},
        "scheduling_unit": 100,
        "min_validation_period": {"batches": STEPS},
        "searcher": {"metric": metric},
    }


def tensorpack_bare(place: pathlib.Path) -> None:
    import tensorpack as tp
    from tensorpack_trials import Model, Numbers

    clock = Clock()

    class Tick(tp.Callback):  # type: ignore[misc]
        def _trigger_step(self) -> None:
            clock.step()

    tp.logger.set_logger_dir(str(place / "log"))
    tp.launch_train_with_config(
        tp.TrainConfig(
            model=Model(),
            data=tp.FeedInput(tp.BatchData(Numbers(1, 4000, chance=False), 4)),
            callbacks=[Tick()],
            extra_callbacks=[tp.MovingAverageSummary(), tp.RunUpdateOps()],
            monitors=[],
            steps_per_epoch=STEPS,
            max_epoch=1,
            session_config=one_thread(),
        ),
        tp.SimpleTrainer(),
    )
    clock.show()


def tensorpack_trial(place: pathlib.Path) -> None:
    import tensorpack as tp
    from runs import run
    from tensorpack_trials import Model, Numbers

    from determined.tensorpack import TensorpackTrial

    clock = Clock()

    class Tick(tp.Callback):  # type: ignore[misc]
        def _trigger_step(self) -> None:
            clock.step()

    class Trial(TensorpackTrial):
        def __init__(self, context: Any) -> None:
            self.context = context

        def build_model(self, trainer_type: str) -> Any:
            return Model()

        def build_training_dataflow(self) -> Any:
            return tp.BatchData(Numbers(1, 4000, chance=False), 4)

        def build_validation_dataflow(self) -> Any:
            return tp.BatchData(Numbers(2, 40, chance=False), 4)

        def validation_metrics(self) -> list[str]:
            return ["cost"]

        def tensorpack_callbacks(self) -> list[Any]:
            return [Tick()]

    run(Trial, place, STEPS, config=settings(4, "val_cost"))
    clock.show()


def reads(place: pathlib.Path) -> None:
    """Prints records per second: cached and yogadl, each in order and shuffled, and TFRecord."""
    import numpy as np
    import tensorflow as tf
    import yogadl.storage
    import yogadl.tensorflow

    from determined._tensorflow import _cache, _reader

    v1 = tf.compat.v1
    rows = np.random.default_rng(1).integers(0, 255, (RECORDS, 784), dtype=np.uint8)
    cache = _cache.opened(place / "cache", lambda: tf.data.Dataset.from_tensor_slices(rows))
    with tf.io.TFRecordWriter(str(place / "records")) as writer:
        for row in rows:
            writer.write(row.tobytes())

    (place / "yogadl").mkdir()
    storage = yogadl.storage.LFSStorage(yogadl.storage.LFSConfigurations(str(place / "yogadl")))
    stored = storage.cacheable("rows", "1")(lambda: tf.data.Dataset.from_tensor_slices(rows))()

    def a_second(make: Any) -> float:
        with tf.Graph().as_default(), v1.Session(config=one_thread()) as session:
            element = v1.data.make_one_shot_iterator(make().repeat().batch(64)).get_next()
            session.run(element)
            begun = time.process_time()
            for _ in range(RECORDS // 64):
                session.run(element)
            return RECORDS / (time.process_time() - begun)

    def cached(shuffle: bool) -> Any:
        options = {"seed": 1, "rank": 0, "size": 1, "reshuffle": True, "training": True}
        return _reader.Reader(cache, shuffle=shuffle, **options).dataset()

    def yogadls(shuffle: bool) -> Any:
        return yogadl.tensorflow.make_tf_dataset(stored.stream(shuffle=shuffle, shuffle_seed=1))

    def from_file() -> Any:
        return tf.data.TFRecordDataset(str(place / "records")).map(lambda row: tf.io.decode_raw(row, tf.uint8))

    both = [
        a_second(lambda kind=kind, mixed=mixed: kind(mixed)) for kind in (cached, yogadls) for mixed in (False, True)
    ]
    print(*both, a_second(from_file))


VARIANTS = {
    "estimator": (estimator_bare, estimator_trial),
    "tensorpack": (tensorpack_bare, tensorpack_trial),
    "reads": (reads,),
}


def measured(python: pathlib.Path, name: str) -> list[float]:
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    command = [str(python), __file__, "--one", name]
    ended = subprocess.run(command, env={**os.environ, **quiet}, capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(ended.stdout[-2000:] + ended.stderr[-4000:])
    return [float(word) for word in ended.stdout.split("\n")[-2].split()]


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        with tempfile.TemporaryDirectory() as directory:
            functions = {one.__name__: one for pair in VARIANTS.values() for one in pair}
            functions[sys.argv[2]](pathlib.Path(directory))
        return
    from platform_under_test import circumstances

    from determined.exec import _requirements

    layer = _requirements.Layer("TensorFlow trials", _requirements.TENSORFLOW, ROOT / "bench")
    home = _requirements.place(layer)
    packages = _requirements.build(home, layer)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for name in ("estimator", "tensorpack"):
        pairs = [[measured(home / "bin" / "python", one.__name__)[0] for one in VARIANTS[name]] for _ in range(rounds)]
        bare, trial = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(second / first for first, second in pairs)
        print(f"{name:10}  alone {bare:8.0f} us per step, as a trial {trial:8.0f}, ratio {ratio:.3f}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        beside = pathlib.Path(directory) / "environment"
        _requirements.build(
            beside, _requirements.Layer("yogadl", ("yogadl==0.1.4", "protobuf<5"), ROOT / "bench"), [packages]
        )
        rows = [measured(beside / "bin" / "python", "reads") for _ in range(rounds)]
    names = ("cached in order", "cached and shuffled", "yogadl in order", "yogadl shuffled", "TFRecord in order")
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        ratio = statistics.median(one / row[-1] for one, row in zip(column, rows, strict=True))
        print(f"{name:19} {statistics.median(column):8,.0f} records per second, {ratio:.2f} times TFRecord")
    print(f"tensorflow_trials.py {rounds}; {circumstances()}")


if __name__ == "__main__":
    main()
