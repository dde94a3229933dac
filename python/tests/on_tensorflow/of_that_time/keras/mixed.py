"""Mixed precision and preprocessing layers while both were experimental."""

import tensorflow as tf
from data import stripes
from tensorflow.keras import layers
from tensorflow.keras.layers.experimental import preprocessing
from tensorflow.keras.mixed_precision import experimental as mixed_precision

from determined.keras import TFKerasTrial


class MixedPrecisionTrial(TFKerasTrial):
    def __init__(self, context):
        self.context = context
        policy = mixed_precision.Policy("mixed_float16", loss_scale="dynamic")
        mixed_precision.set_policy(policy)

    def build_model(self):
        normalization = preprocessing.Normalization()
        normalization.adapt(stripes(24, 1)[0])
        model = tf.keras.Sequential(
            [
                layers.InputLayer((8, 8, 1)),
                normalization,
                preprocessing.RandomFlip("horizontal"),
                preprocessing.RandomTranslation(0.1, 0.1),
                layers.Conv2D(4, 3, activation="relu"),
                layers.GlobalAveragePooling2D(),
                layers.Dropout(0.3),
                layers.Dense(2),
                layers.Activation("softmax", dtype="float32"),
            ]
        )
        model = self.context.wrap_model(model)
        optimizer = mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.05, momentum=0.9), "dynamic")
        model.compile(optimizer, tf.keras.losses.sparse_categorical_crossentropy, ["sparse_categorical_accuracy"])
        return model

    def build_training_data_loader(self):
        x, y = stripes(24, 1)
        return x, y

    def build_validation_data_loader(self):
        return stripes(12, 2)
