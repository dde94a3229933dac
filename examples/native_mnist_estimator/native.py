"""The Native API: a script that submits itself, and trains an Estimator on the cluster.

    python native.py                  # on the master that DET_MASTER names
    python native.py --local --test   # one batch, here
"""

import argparse
import os
import pathlib

import data
import tensorflow as tf

from determined.experimental import estimator

CONFIG = {
    "description": "native_mnist_estimator",
    "data": {"directory": "/usr/share/datasets/fashion-mnist"},
    "hyperparameters": {"learning_rate": 0.001, "global_batch_size": 64},
    "searcher": {
        "name": "single",
        "metric": "accuracy",
        "max_length": {"batches": 200},
        "smaller_is_better": False,
    },
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local", action="store_true", help="train here instead of on the cluster")
    parser.add_argument("--test", action="store_true", help="train one batch only")
    options = parser.parse_args()
    here = str(pathlib.Path(__file__).parent)
    context = estimator.init(config=CONFIG, local=options.local, test=options.test, context_dir=here)
    directory = context.get_data_config()["directory"]

    def input_fn(part, shuffle):
        images, labels = data.load(directory, part)
        dataset = context.wrap_dataset(tf.data.Dataset.from_tensor_slices(({"image": images}, labels)))
        dataset = dataset.shuffle(1000) if shuffle else dataset
        return dataset.batch(context.get_per_slot_batch_size()).map(data.scaled)

    optimizer = context.wrap_optimizer(tf.compat.v1.train.AdamOptimizer(context.get_hparam("learning_rate")))
    columns = [tf.feature_column.numeric_column("image", shape=(784,))]
    classifier = tf.compat.v1.estimator.DNNClassifier([64], columns, n_classes=10, optimizer=optimizer)
    context.serving_input_receiver_fns["parsing"] = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        {"image": tf.io.FixedLenFeature([784], tf.float32)}
    )
    context.train_and_evaluate(
        classifier,
        tf.estimator.TrainSpec(lambda: input_fn("train", shuffle=True)),
        tf.estimator.EvalSpec(lambda: input_fn("t10k", shuffle=False), steps=None),
    )
    print("one batch was trained here", os.getcwd())


if __name__ == "__main__":
    main()
