import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import moments
import train

import determined as det


class Moments(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        moments.after_step(context, epoch + 1)


with det.core.init() as context:
    train.main(context, det.get_cluster_info(), [Moments()])
