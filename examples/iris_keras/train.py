"""A small network learns to tell irises apart, with Keras 3 on PyTorch."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import sklearn.datasets
import sklearn.model_selection

import determined as det
from determined.keras import DeterminedCallback


def main(context, info, callbacks=()):
    hparams, config = info.trial.hparams, info.trial.experiment_config
    keras.utils.set_random_seed(info.trial.trial_seed)
    x, y = sklearn.datasets.load_iris(return_X_y=True)
    split = sklearn.model_selection.train_test_split(x, y, test_size=0.2, random_state=0, stratify=y)
    x_train, x_test, y_train, y_test = split

    model = keras.Sequential(
        [
            keras.layers.Input((4,)),
            keras.layers.Dense(hparams["width"], activation="relu"),
            keras.layers.Dropout(hparams["dropout"]),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    optimizer = keras.optimizers.Adam(hparams["learning_rate"])
    model.compile(optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(
        x_train,
        y_train,
        batch_size=16,
        epochs=config["searcher"]["max_length"]["epochs"],
        validation_data=(x_test, y_test),
        callbacks=[
            DeterminedCallback(context, checkpoint=info.latest_checkpoint, continue_id=info.trial.trial_id),
            keras.callbacks.ReduceLROnPlateau(patience=2),
            *callbacks,
        ],
    )


if __name__ == "__main__":
    with det.core.init() as context:
        main(context, det.get_cluster_info())
