"""A convolutional network of TensorFlow 2.0, with ``lr`` and ``decay``, and callbacks of the time."""

import tempfile

import tensorflow as tf
from data import stripes
from tensorflow.keras.callbacks import LearningRateScheduler, ModelCheckpoint
from tensorflow.keras.layers import Activation, BatchNormalization, Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import Adam

import determined.keras
from determined.keras import TFKerasTrial, TFKerasTrialContext


def halve(epoch, rate):
    return rate * 0.5 if epoch else rate


class CnnTrial(TFKerasTrial):
    def __init__(self, context: TFKerasTrialContext):
        self.context = context

    def build_model(self):
        model = Sequential()
        model.add(Conv2D(4, (3, 3), padding="same", input_shape=(8, 8, 1), kernel_initializer="he_normal"))
        model.add(BatchNormalization())
        model.add(Activation("relu"))
        model.add(MaxPooling2D(pool_size=(2, 2)))
        model.add(Dropout(0.25))
        model.add(Flatten())
        model.add(Dense(2, activation="softmax", kernel_regularizer=tf.keras.regularizers.l2(1e-4)))
        model = self.context.wrap_model(model)
        optimizer = Adam(lr=self.context.get_hparam("learning_rate"), decay=1e-3, epsilon=1e-8, amsgrad=True)
        model.compile(loss="sparse_categorical_crossentropy", optimizer=optimizer, metrics=["acc"])
        return model

    def build_training_data_loader(self):
        return stripes(24, 1)

    def build_validation_data_loader(self):
        return stripes(12, 2)

    def keras_callbacks(self):
        return [
            LearningRateScheduler(halve),
            ModelCheckpoint(tempfile.mkdtemp() + "/{epoch}", period=2, save_weights_only=True),
            determined.keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1, epsilon=10.0),
        ]
