"""A script of the Native API, with ``fit_generator``."""

import sys

import numpy as np
import tensorflow as tf
from data import stripes
from tensorflow.keras.preprocessing.image import ImageDataGenerator

from determined.experimental import keras

config = {"searcher": {"name": "single", "metric": "val_accuracy", "max_steps": 2}}
context = keras.init(config, context_dir=".")

x, y = stripes(24, 1)
batch_size = context.get_per_slot_batch_size()
flow = ImageDataGenerator(samplewise_center=True).flow(x, tf.keras.utils.to_categorical(y), batch_size=batch_size)
held_out = stripes(12, 2)

model = tf.keras.models.Sequential()
model.add(tf.keras.layers.Flatten(input_shape=x.shape[1:]))
model.add(tf.keras.layers.Dense(2, activation="softmax", weights=[np.zeros((64, 2)), np.zeros(2)]))
model = context.wrap_model(model)
model.compile("adadelta", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit_generator(
    flow,
    len(x) // batch_size,
    int(sys.argv[1]),
    validation_data=(held_out[0], tf.keras.utils.to_categorical(held_out[1])),
    validation_steps=2,
    workers=4,
    use_multiprocessing=True,
)
